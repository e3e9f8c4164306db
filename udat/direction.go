package udat

import (
	"math/bits"
	"sync/atomic"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
	"github.com/goudat/goudat/udat/internal/numbers"
)

// A direction is one of the two queues of an endpoint, receives or requests. It
// keeps the record of what is outstanding, since the library's own is wrong
// after a failed post, and its lock: the library takes none when it posts.
//
// The library gets a native cookie of our own, which leads a completion back to
// the endpoint, the operation and the slot that holds the program's cookie.
type direction struct {
	n      *nativeEP
	shadow *shadow // of the endpoint

	mu                          lockorder.Mutex[directionRank]
	handle                      cgo.EPHandle // 0 while nothing can be posted: see nativeEP.pausePosts
	tag                         uint64       // the endpoint's number, at its place in a native cookie
	limit                       uint64       // how many operations may be outstanding
	uncountedLimit              uint64       // up to how many outstanding operations a post needs no room on the EVD; 0 while the EVD counts
	counting                    bool         // the EVD counts its room; written under its lock, too
	reservedRoom                int          // receives that will be posted again, and already have their room
	suppressedLimit             uint64       // every how many suppressed operations in a row one is reported to the binding; 0 for each
	maxIOV                      int
	maxMessageSize, maxRDMASize uint32
	lacks                       operationSet // operations that the device does not have
	closed                      bool         // a graceful disconnect has begun, which lets no more requests in
	shared                      bool         // an SRQ takes the receives
	longPosts                   bool         // posting takes long: see turnOver

	evd        *EVD         // nil for a direction that is not used
	suppressed uint64       // operations since the last that completes in any case
	hidden     atomic.Int64 // operations outstanding whose success is reported to the binding alone

	posted    atomic.Uint64 // written under mu
	retired   atomic.Uint64 // written under the EVD's lock
	inBacklog atomic.Int64  // completions
	order     completionOrder
	slots     []slot
	gathering
	single cgo.Post   // scratch
	posts  []cgo.Post // scratch
}

// slot is the record of an operation.
type slot struct {
	cookie  uint64
	op      operation
	success successNews
	region  *LMR   // whose memory the operation uses, nil for none
	regions []*LMR // further ones
}

// successNews says who is told when an operation succeeds. The program is always told
// when one of its operations fails.
type successNews uint8

const (
	toProgram successNews = iota
	toBinding
	toNobody
)

// A native cookie: the number of the endpoint or SRQ, the operation, whether it
// is hidden, and the sequence number, or, in an SRQ, that of the slot.
const (
	numberBits    = numbers.Bits
	operationBits = 4
	hiddenBits    = 1
	sequenceBits  = 64 - numberBits - operationBits - hiddenBits

	hiddenBit      = 1 << sequenceBits
	operationShift = sequenceBits + hiddenBits
	numberShift    = operationShift + operationBits
	sequenceMask   = 1<<sequenceBits - 1
	operationMask  = 1<<operationBits - 1
)

// init sets up a direction of a new native endpoint.
func (d *direction) init(n *nativeEP, evd *EVD, limit, maxIOV int) {
	p := &n.parts
	d.n, d.shadow, d.evd = n, n.ep.shadow, evd
	d.pz, d.owner = p.pz, n
	d.limit, d.maxIOV = uint64(limit), maxIOV
	d.uncountedLimit, d.suppressedLimit = d.limit, d.limit/4
	d.maxMessageSize, d.maxRDMASize = p.attr.MaxMessageSize, p.attr.MaxRDMASize
	d.slots = make([]slot, 1<<bits.Len64(d.limit))
	d.iwarp, d.lacks = n.ep.ia.iwarp, n.ep.ia.lacks
	d.longPosts = n.ep.ia.software && d == &n.request
	if d.iwarp && d == &n.request {
		d.order.begin(len(d.slots))
	}
	d.iov = make([]cgo.LMRTriplet, 0, d.maxIOV)
	d.regions = make([]*LMR, 0, d.maxIOV)
}

// begin allows posts, once the native endpoint exists.
func (d *direction) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handle, d.tag = d.n.handle, uint64(d.n.number)<<numberShift
}

func (d *direction) outstanding() uint64 { return d.posted.Load() - d.retired.Load() }

// idleForProgram reports whether the program has taken all completions. One that goes to
// the backlog is counted there before its operation retires, so that it is always seen here.
func (d *direction) idleForProgram() bool { return d.settled() && d.inBacklog.Load() == 0 }

// settled reports whether nothing is outstanding. It does not look for completions in the
// library.
func (d *direction) settled() bool { return d.outstanding() == 0 }

// idle is settled, after taking the completions that the library has.
func (d *direction) idle() bool {
	if d.outstanding() > 0 {
		d.evd.reap()
	}
	return d.settled()
}

func (d *direction) slot(sequence uint64) *slot { return &d.slots[sequence&uint64(len(d.slots)-1)] }

// record notes an operation that is about to be posted, and returns its native cookie. The
// operation counts as outstanding from then on, since its completion may be taken before
// the post returns.
func (d *direction) record(op operation, cookie uint64) uint64 {
	sequence := d.posted.Load()
	s := d.slot(sequence)
	s.cookie, s.op, s.success = cookie, op, toProgram
	s.use(d.regions)
	d.posted.Add(1)
	return d.tag | uint64(op)<<operationShift | sequence&sequenceMask
}

// last returns the record of the operation that was recorded last, which must be
// outstanding.
func (d *direction) last() *slot { return d.slot(d.posted.Load() - 1) }

// withdraw forgets the operation that was recorded last: it is not posted.
func (d *direction) withdraw() {
	if d.last().success == toBinding {
		d.hidden.Add(-1)
	}
	d.posted.Add(^uint64(0))
	d.giveRoom()
	d.suppressed = 0
	for sequence := d.posted.Load(); sequence > d.retired.Load() && d.slot(sequence-1).success == toNobody; sequence-- {
		d.suppressed++
	}
}

// retire notes the completion with the given sequence bits, and returns the program's
// cookie. Completions come in posting order, and a completion implies those of suppressed
// operations before it. So retire retires all operations before it as well. The caller
// holds the lock of the EVD that the completion came from.
func (d *direction) retire(sequence uint64) (cookie uint64) {
	retired := d.retired.Load()
	full := retired + (sequence-retired)&sequenceMask
	d.posted.Load() // what the poster has noted of the operation is there
	cookie = d.slot(full).cookie
	d.retired.Store(full + 1)
	return cookie
}

// use notes the memory regions of the operation.
func (s *slot) use(regions []*LMR) {
	if len(regions) == 1 && len(s.regions) == 0 { // the usual case
		s.region = regions[0]
		return
	}
	s.region, s.regions = nil, s.regions[:0]
	if len(regions) > 0 {
		s.region = regions[0]
		s.regions = append(s.regions, regions[1:]...)
	}
}

// failed returns the completion of an operation that the library does not complete.
func (d *direction) failed(op operation, cookie uint64, status DTOStatus) Event {
	return Event{Number: EventDTOCompletion, Cookie: cookie, Operation: op.dto(), Status: status, native: d.n}
}

// flush retires what is outstanding, and returns the completions that the library failed
// to report. It returns none for a suppressed operation, which may have succeeded. The
// caller has reaped the EVD.
func (d *direction) flush() (events []Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for sequence := d.retired.Load(); sequence < d.posted.Load(); sequence++ {
		s := d.slot(sequence)
		if c := d.order.at(sequence); c != nil {
			if event := d.order.settle(c); !c.silent {
				events = append(events, event)
			}
			*c = earlyCompletion{}
			continue
		}
		// A suppressed read on iWARP is known to have failed: see suppress.
		if s.success != toProgram && !(d.order.early != nil && s.op == opRDMARead) {
			continue
		}
		d.order.failed = true
		event := d.failed(s.op, s.cookie, DTOErrFlushed)
		if s.op == opBind {
			d.n.ep.ia.binds.complete(d.tag|uint64(opBind)<<operationShift|sequence&sequenceMask, &event)
		}
		events = append(events, event)
	}
	if d.counting {
		d.evd.room.Release(int(d.outstanding()))
	}
	d.retired.Store(d.posted.Load())
	return events
}
