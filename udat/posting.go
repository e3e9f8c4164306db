package udat

import (
	"errors"
	"math"
	"runtime"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// A direction is one of the two queues of an endpoint, receives or requests. Its lock is
// the one that the library does not take when it posts.
type direction struct {
	ep *EP
	mu lockorder.Mutex[directionRank]

	handle                      cgo.EPHandle // 0 once the endpoint is freed
	idle                        bool         // it has no EVD, so that nothing can be posted
	pz                          *PZ
	maxIOV                      int
	maxMessageSize, maxRDMASize uint32
	noReads                     bool

	iov   []cgo.LMRTriplet // scratch
	posts []cgo.Post       // scratch
}

// init sets up a direction for new attributes. The caller holds mu, unless the endpoint is
// new.
func (d *direction) init(ep *EP, p *epParts) {
	evd, maxIOV := p.recv, p.attr.MaxRecvIOV
	if d == &ep.request {
		evd, maxIOV = p.request, p.attr.MaxRequestIOV
	}
	d.ep, d.handle, d.idle, d.pz, d.maxIOV = ep, ep.handle, evd == nil, p.pz, maxIOV
	d.maxMessageSize, d.maxRDMASize = p.attr.MaxMessageSize, p.attr.MaxRDMASize
	d.noReads = readsOf(p.attr.MaxRDMAReadOut) == 0
}

// post posts an operation of any kind. remote is nil for one without remote memory,
// operands are those of the extension's operations: see cgo.EPPost.
func (ep *EP) post(op operation, iov []Segment, cookie uint64, flags CompletionFlags, remote *RMRTriplet, operands *[2]uint64) error {
	k := &kinds[op]
	if ep == nil {
		return ep.object().enter(k.call, InvalidHandleEP)
	}
	d := ep.direction(op)
	d.mu.Lock()
	err := d.post(op, k, iov, cookie, flags, remote, operands)
	d.mu.Unlock() // without a defer: see assertPosted
	if d == &ep.request && ep.ia != nil && ep.ia.software && turnOver() {
		runtime.Gosched()
	}
	return ep.explain(k.call, err)
}

// direction returns the queue that an operation is posted to.
func (ep *EP) direction(op operation) *direction {
	if op == opReceive {
		return &ep.recv
	}
	return &ep.request
}

// post posts one operation. The caller holds mu.
func (d *direction) post(op operation, k *kind, iov []Segment, cookie uint64, flags CompletionFlags, remote *RMRTriplet, operands *[2]uint64) error {
	d.iov = d.iov[:0]
	if err := d.examine(op, k, iov, flags, remote); err != nil {
		return err
	}
	d.posts = append(d.posts[:0], cgo.Post{})
	d.prepare(&d.posts[0], op, k, len(d.iov), cookie, flags, remote)
	if r := cgo.EPPost(d.handle, &d.posts[0], d.iov, operands); !r.OK() {
		return d.refused(k.call, r)
	}
	d.ep.ia.counters.Load().posted(1)
	if d.ep.shadow != nil {
		d.assertPosted(k.call)
	}
	return nil
}

// assertPosted has the shadow check a post. A difference is reported without mu: a post does
// not release it by a defer. The caller holds mu.
func (d *direction) assertPosted(call string) {
	if report := d.ep.shadow.Posted(call); report != nil {
		d.mu.Unlock()
		report()
		d.mu.Lock()
	}
}

// examine checks an operation, and adds its native segments to d.iov. The caller holds mu.
func (d *direction) examine(op operation, k *kind, iov []Segment, flags CompletionFlags, remote *RMRTriplet) error {
	switch {
	case d.handle == 0:
		return errNotReady
	case flags&^k.flags != 0:
		return refuse(k.call, ErrInvalidParameter, k.flagsArg, "the completion flags are %v, they may have %v: leave CompletionDefault", flags, k.flags)
	case op == opReceive && d.ep.srq != nil:
		return refuse(k.call, ErrInvalidState, InvalidStateSRQInUse, "the endpoint receives through a shared receive queue: post to that")
	case d.idle:
		return refuse(k.call, ErrInvalidState, InvalidStateEPNotReady, "the endpoint was made without an event dispatcher for the completions: give it one with CreateEP or Modify")
	case len(iov) > d.maxIOV:
		return refuse(k.call, ErrInvalidParameter, InvalidArg2, "there are %d segments, the endpoint takes at most %d: post several operations, or raise EPAttr.MaxRecvIOV and MaxRequestIOV", len(iov), d.maxIOV)
	}
	before := len(d.iov)
	iwarp := d.ep.ia.iwarp
	var err error
	var total uint64
	d.iov, total, err = gather(k.call, d.iov, iov, d.pz, k.needs, iwarp)
	if err != nil {
		return err
	}
	if most := d.mostBytes(k); total > uint64(most) {
		return refuse(k.call, ErrInvalidParameter, InvalidArg3, "the operation has %d bytes, the endpoint takes at most %d: post several operations, or raise EPAttr.MaxMessageSize and MaxRDMASize", total, most)
	}
	if remote != nil {
		return d.checkRemote(op, k, len(d.iov)-before, total, remote)
	}
	return nil
}

// mostBytes returns how many bytes an operation may have.
func (d *direction) mostBytes(k *kind) uint32 {
	switch k.sized {
	case asRDMA:
		return d.maxRDMASize
	case asMemory:
		return math.MaxUint32
	}
	return d.maxMessageSize
}

// checkRemote checks the remote memory of an operation, and what else only operations with
// remote memory need.
func (d *direction) checkRemote(op operation, k *kind, segments int, total uint64, remote *RMRTriplet) error {
	ia := d.ep.ia
	switch {
	case total > uint64(remote.SegmentLength):
		return refuse(k.call, ErrInvalidParameter, InvalidArg5, "the operation has %d bytes, the remote memory %d: shorten the segments, or have the peer give more of its memory", total, remote.SegmentLength)
	case op == opRDMARead && segments > ia.attr.MaxIOVSegmentsPerRead:
		// The library takes them, and soft-iWARP then reads into the first segment alone.
		return refuse(k.call, ErrInvalidParameter, InvalidArg2, "there are %d segments, an RDMA read of the adapter takes at most %d: post several reads", segments, ia.attr.MaxIOVSegmentsPerRead)
	case op == opRDMARead && d.misread(total, remote):
		return refuse(k.call, ErrInvalidParameter, InvalidArg5, "the operation reads %d bytes across two pages of the peer's memory, and soft-iWARP returns wrong bytes for such a read of at most %d: read each page's part by itself, or read more", total, mostMisread)
	case ia.lacks.has(op):
		return refuse(k.call, ErrNotImplemented, NoSubtype, "the device %s does not have the operation: ask ProviderAttr.Supports before you use it", ia.attr.AdapterName)
	case op == opRDMARead && d.noReads:
		return refuse(k.call, ErrInvalidParameter, NoSubtype, "the endpoint was made without RDMA reads: leave EPAttr.MaxRDMAReadOut 0 for the default, or give it a number")
	}
	return nil
}

// prepare fills in the native form of an operation that was examined.
func (d *direction) prepare(to *cgo.Post, op operation, k *kind, segments int, cookie uint64, flags CompletionFlags, remote *RMRTriplet) {
	if op == opRDMARead && d.ep.ia.iwarp {
		flags &^= CompletionBarrierFence // reads are done in order there, and soft-iWARP takes a fenced one for an error
	}
	to.Operation, to.Segments = k.dto.native(), uint32(segments)
	to.Cookie, to.Flags = cookie, cgo.CompletionFlags(flags)
	if remote != nil {
		to.Remote = cgo.RMRTriplet(*remote)
	}
}

// refused returns the error of an operation that the library has refused.
func (d *direction) refused(op string, r cgo.Return) error {
	if r.Type() != cgo.InsufficientResources {
		return check(op, r)
	}
	if r.Subtype() == cgo.ResourceTEVD {
		return errNoRoom(op)
	}
	return refuse(op, ErrInsufficientResources, ResourceMemory, "as many operations of the endpoint are outstanding as may be: take completions, or raise EPAttr.MaxRecvDTOs or MaxRequestDTOs")
}

// errNoRoom is the error of an operation that has no room on an EVD.
func errNoRoom(op string) error {
	return refuse(op, ErrInsufficientResources, ResourceTEVD, "outstanding operations and completions that were not taken fill the event dispatcher: take completions, or make it longer with Resize")
}

// gather checks the segments of an operation, and adds their native form to to.
func gather(op string, to []cgo.LMRTriplet, iov []Segment, pz *PZ, needs MemPriv, iwarp bool) (_ []cgo.LMRTriplet, total uint64, err error) {
	for i := range iov {
		s := &iov[i]
		if s.lmr != nil {
			if s.lmr.gone.Load() {
				return to, 0, s.lmr.obj.freed(op, InvalidHandleLMR)
			}
			if s.lmr.pz != pz || s.lmr.privileges&needs == 0 {
				return to, 0, s.refusal(op, i, pz, needs)
			}
		}
		if s.triplet.SegmentLength == 0 && iwarp {
			continue // the kernel's soft-iWARP takes it for the end of the list
		}
		total += uint64(s.triplet.SegmentLength)
		to = append(to, s.triplet)
	}
	// Soft-iWARP refuses a receive without segments. For an RDMA read without segments it
	// uses the segment of an earlier operation.
	if iwarp && needs == MemPrivLocalWrite && total == 0 {
		to = append(to, cgo.LMRTriplet{})
	}
	return to, total, nil
}

// refusal returns the error of segment i, which the operation may not use.
func (s *Segment) refusal(op string, i int, pz *PZ, needs MemPriv) error {
	if s.lmr.pz != pz {
		return refuse(op, ErrProtectionViolation, protectionSubtype(needs), "segment %d is not in the endpoint's protection zone: register its memory there", i)
	}
	return refuse(op, ErrPrivilegesViolation, privilegesSubtype(needs), "segment %d has the privileges %v, the operation needs %v: register its memory with that", i, s.lmr.privileges, needs)
}

func protectionSubtype(needs MemPriv) ReturnSubtype {
	if needs == MemPrivLocalWrite {
		return ProtectionWrite
	}
	return ProtectionRead
}

func privilegesSubtype(needs MemPriv) ReturnSubtype {
	if needs == MemPrivLocalWrite {
		return PrivilegesWrite
	}
	return PrivilegesRead
}

// errNotReady says that the endpoint, or the queue, is freed, or was not made by this package. explain
// finds out more once the direction's lock is released.
var errNotReady = errors.New("endpoint not ready")

// explain adds the endpoint's state to the error of a post, which takes the gate: the
// library's error names UNCONNECTED whatever the state is.
func (ep *EP) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	if ep != nil && ep.ia != nil {
		ep.ia.counters.Load().refusedPost()
	}
	e, isError := err.(*Error)
	if err != errNotReady && !(isError && e.Detail == "" && e.Return.Type() == ErrInvalidState) {
		return err
	}
	if gone := ep.obj.enter(op, InvalidHandleEP); gone != nil {
		return gone
	}
	defer ep.obj.leave()
	if required := ep.requireState(op, EPStateConnected); required != nil {
		return required
	}
	return refuse(op, ErrInvalidState, NoSubtype, "the endpoint was not connected when the operation was posted: wait for EventConnectionEstablished first")
}

// misread reports whether the kernel's soft-iWARP returns wrong bytes for an RDMA read. If
// few bytes are on two pages of the peer's memory, it copies as many from the first page
// as are on the second (siw_try_1seg).
func (d *direction) misread(total uint64, remote *RMRTriplet) bool {
	const page = 4096 // the peer's are not smaller
	return d.ep.ia.iwarp && d.ep.ia.software && total <= mostMisread && remote.VirtualAddress%page+total > page
}

const mostMisread = 32
