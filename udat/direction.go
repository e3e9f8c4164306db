package udat

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/goudat/goudat/cgo"
)

// A direction is one of the two queues of an endpoint, receives or requests. It
// keeps the record of what is outstanding, since the library's own is wrong
// after a failed post, and its lock: the library takes none when it posts.
//
// The library gets a native cookie of our own, which leads a completion back to
// the endpoint, the operation and the slot that holds the program's cookie.
type direction struct {
	mu                          sync.Mutex
	handle                      cgo.EPHandle // 0 once the endpoint is freed
	pz                          *PZ
	tag                         uint64 // the endpoint's number, placed for a native cookie
	limit                       uint64 // operations that may be outstanding
	maxIOV                      int
	maxMessageSize, maxRDMASize uint32
	closed                      bool // a graceful disconnect has begun, which lets no more requests in
	broken                      bool // a post failed inside the library, whose records are wrong since

	posted  atomic.Uint64 // written under mu
	retired atomic.Uint64 // written under the EVD's lock
	cookies []atomic.Uint64
	ops     []DTO            // beside cookies
	iov     []cgo.LMRTriplet // scratch
}

// A native cookie: the endpoint's number, the operation, the sequence number.
const (
	endpointBits  = 24
	operationBits = 3
	sequenceBits  = 64 - endpointBits - operationBits

	operationShift = sequenceBits
	endpointShift  = sequenceBits + operationBits
	sequenceMask   = 1<<sequenceBits - 1
	operationMask  = 1<<operationBits - 1
)

// open starts the direction anew for a native endpoint. The caller holds mu.
func (d *direction) open(handle cgo.EPHandle, number uint32, pz *PZ, limit, maxIOV int, attr *EPAttr) {
	d.handle, d.pz, d.limit, d.maxIOV = handle, pz, uint64(limit), maxIOV
	d.maxMessageSize, d.maxRDMASize = attr.MaxMessageSize, attr.MaxRDMASize
	d.closed, d.broken = false, false
	d.tag = uint64(number) << endpointShift
	d.posted.Store(0)
	d.retired.Store(0)
	if slots := 1 << bits.Len64(d.limit); len(d.cookies) != slots {
		d.cookies = make([]atomic.Uint64, slots)
		d.ops = make([]DTO, slots)
	}
	d.iov = make([]cgo.LMRTriplet, 0, d.maxIOV)
}

// mostBytes is what one operation of a kind may transfer.
func (d *direction) mostBytes(kind DTO) uint32 {
	if kind == DTORDMARead || kind == DTORDMAWrite {
		return d.maxRDMASize
	}
	return d.maxMessageSize
}

func (d *direction) outstanding() uint64 { return d.posted.Load() - d.retired.Load() }

func (d *direction) slot(sequence uint64) uint64 { return sequence & uint64(len(d.cookies)-1) }

// record notes an operation that is about to be posted and gives its native
// cookie. It counts from then on, since its completion may be taken before the
// post returns.
func (d *direction) record(op DTO, cookie uint64) uint64 {
	sequence := d.posted.Load()
	slot := d.slot(sequence)
	d.cookies[slot].Store(cookie)
	d.ops[slot] = op
	d.posted.Add(1)
	return d.tag | uint64(op)<<operationShift | sequence&sequenceMask
}

// withdraw forgets the operation that was recorded last: it is not posted.
func (d *direction) withdraw() { d.posted.Add(^uint64(0)) }

// retire notes the completion with the given sequence bits and gives the
// program's cookie. Completions come in posting order and a suppressed one is
// implied by the next, so that everything before is retired as well. The caller
// holds the lock of the EVD that the completion came from.
func (d *direction) retire(sequence uint64) (cookie uint64) {
	retired := d.retired.Load()
	full := retired + (sequence-retired)&sequenceMask
	cookie = d.cookies[d.slot(full)].Load()
	d.retired.Store(full + 1)
	return cookie
}

// flush retires what is outstanding and gives the completions that the library
// failed to report. The caller holds mu and has reaped the EVD.
func (d *direction) flush(ep *EP) (events []Event) {
	for sequence := d.retired.Load(); sequence < d.posted.Load(); sequence++ {
		slot := d.slot(sequence)
		events = append(events, Event{
			Number:    EventDTOCompletion,
			Cookie:    d.cookies[slot].Load(),
			Operation: d.ops[slot],
			Status:    DTOErrFlushed,
			ep:        ep,
		})
	}
	d.retired.Store(d.posted.Load())
	return events
}
