package udat

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/notify"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// A workQueue is one of the library's queues of operations: the receives or the requests of an
// endpoint, or a shared receive queue. The library does not lock posts, so mu does.
type workQueue struct {
	mu       sync.Mutex
	handle   cgo.Handle // 0 once the endpoint, or the shared receive queue, is freed
	ep       *EP        // nil for a shared receive queue
	pz       *PZ
	maxIOV   int // -1 if nothing can be posted
	maxBytes [limitNone + 1]uint32
	iwarp    bool
	noReads  bool
	refusal  *refusal // nil if operations can be posted

	iov   []cgo.LMRTriplet // scratch
	posts []cgo.Post       // scratch
}

// refusal is an ErrInvalidState that does not depend on the operation.
type refusal struct {
	subtype ReturnSubtype
	detail  string
}

var (
	refuseForSRQ = &refusal{InvalidStateSRQInUse, "the endpoint receives through a shared receive queue: post to that"}
	refuseForEVD = &refusal{InvalidStateEPNotReady, "the endpoint was made without an event dispatcher for the completions: set one with CreateEP or Modify"}
)

// init sets up a queue for new attributes. The caller holds mu, unless the endpoint is
// new.
func (q *workQueue) init(ep *EP, p *epParts) {
	evd := p.recv
	q.maxIOV, q.refusal = p.attr.MaxRecvIOV, nil
	if q == &ep.request {
		evd, q.maxIOV = p.request, p.attr.MaxRequestIOV
	} else if p.srq != nil {
		q.maxIOV, q.refusal = -1, refuseForSRQ
	}
	if evd == nil {
		q.maxIOV, q.refusal = -1, refuseForEVD
	}
	q.ep, q.handle, q.pz, q.iwarp = ep, cgo.Handle(ep.handle), p.pz, ep.ia.iwarp
	q.maxBytes = [...]uint32{limitMessage: p.attr.MaxMessageSize, limitRDMA: p.attr.MaxRDMASize, limitNone: math.MaxUint32}
	q.noReads = p.attr.MaxRDMAReadOut == 0
	q.makeRoom(1)
}

// makeRoom empties the queue's lists, and makes room for n operations.
func (q *workQueue) makeRoom(n int) {
	if q.posts, q.iov = q.posts[:0], q.iov[:0]; cap(q.posts) < n {
		q.posts = make([]cgo.Post, 0, n)
	}
}

// post posts an operation of any kind. operands are those of the extension's operations: see
// cgo.EPPost.
func (ep *EP) post(op *operation, p *Post, operands *[2]uint64) error {
	if ep == nil {
		return ep.object().unusable(op.call, InvalidHandleEP)
	}
	q := ep.queue(op)
	q.mu.Lock()
	q.makeRoom(1)
	err := q.add(op, p)
	if err == nil {
		if r := cgo.EPPost(cgo.EPHandle(q.handle), &q.posts[0], q.iov, operands); !r.OK() {
			err = checkPost(op.call, r)
		} else {
			ep.ia.counters.Load().posted(1)
			if ep.shadow != nil {
				shadow.Assert(&q.mu, func() { ep.shadow.Posted(op.call) })
			}
		}
	}
	q.mu.Unlock() // without a defer: see shadow.Assert
	if q == &ep.request && ep.yieldDue() {
		runtime.Gosched()
	}
	if err == nil {
		return nil
	}
	return ep.addState(op.call, err)
}

// queue returns the queue that an operation is posted to.
func (ep *EP) queue(op *operation) *workQueue {
	if op == &opReceive {
		return &ep.recv
	}
	return &ep.request
}

// add checks an operation, and adds its native form to q.posts and q.iov. The caller holds mu, and
// has made room.
func (q *workQueue) add(op *operation, p *Post) error {
	segments := p.Segments // once: a program that changes it meanwhile must not break more than its post
	if q.handle == 0 || p.Flags&^op.flags != 0 || len(segments) > q.maxIOV || cap(q.iov)-len(q.iov) <= len(segments) {
		if err := q.admit(op, len(segments), p.Flags); err != nil {
			return err
		}
	}
	iov, n := q.iov[:cap(q.iov)], len(q.iov)
	total := uint64(0)
	for i := range segments {
		s := &segments[i]
		if lmr := s.lmr; lmr == nil || lmr.pz != q.pz || lmr.postPrivileges.Load()&uint32(op.needs) == 0 {
			return lmr.refuse(op, i, q.pz)
		}
		if s.triplet.SegmentLength == 0 && q.iwarp {
			continue // the kernel's soft-iWARP takes it for the end of the list
		}
		total += uint64(s.triplet.SegmentLength)
		iov[n] = s.triplet
		n++
	}
	if total == 0 && q.iwarp && op.needs == MemPrivLocalWrite {
		// Soft-iWARP refuses a receive without segments. For an RDMA read without segments it
		// uses the segment of an earlier operation.
		iov[n] = cgo.LMRTriplet{}
		n++
	}
	if total > uint64(q.maxBytes[op.limit]) {
		return refuse(op.call, ErrInvalidParameter, InvalidArg3, "the operation has %d bytes, the endpoint takes at most %d: post several operations, or raise EPAttr.MaxMessageSize and MaxRDMASize", total, q.maxBytes[op.limit])
	}
	q.posts = q.posts[:len(q.posts)+1]
	post := &q.posts[len(q.posts)-1]
	post.Operation, post.Segments = op.dto.native(), uint32(n-len(q.iov))
	post.Cookie, post.Flags = p.Cookie, cgo.CompletionFlags(p.Flags)
	q.iov = q.iov[:n]
	if !op.remote {
		return nil
	}
	if op == &opRDMARead && q.iwarp {
		post.Flags &^= cgo.CompletionBarrierFence // reads are done in order there, and soft-iWARP takes a fenced one for an error
	}
	post.Remote = cgo.RMRTriplet(p.Remote)
	return q.checkRemote(op, int(post.Segments), total, &p.Remote)
}

// admit makes room for the segments of an operation, and one more. It returns an error if the
// operation does not suit the queue.
func (q *workQueue) admit(op *operation, segments int, flags CompletionFlags) error {
	switch {
	case q.handle == 0:
		return errNotReady
	case flags&^op.flags != 0:
		return refuse(op.call, ErrInvalidParameter, op.flagsArg, "the completion flags are %v, they may have %v: leave CompletionDefault", flags, op.flags)
	case q.refusal != nil:
		return refuse(op.call, ErrInvalidState, q.refusal.subtype, "%s", q.refusal.detail)
	case segments <= q.maxIOV:
		q.iov = slices.Grow(q.iov, segments+1)
		return nil
	case op == &opSharedReceive:
		return refuse(op.call, ErrInvalidParameter, InvalidArg2, "there are %d segments, the queue takes at most %d: post several receives, or raise SRQAttr.MaxRecvIOV", segments, q.maxIOV)
	}
	return refuse(op.call, ErrInvalidParameter, InvalidArg2, "there are %d segments, the endpoint takes at most %d: post several operations, or raise EPAttr.MaxRecvIOV and MaxRequestIOV", segments, q.maxIOV)
}

// checkRemote checks the remote memory of an operation, and what else only operations with
// remote memory need.
func (q *workQueue) checkRemote(op *operation, segments int, total uint64, remote *RMRTriplet) error {
	ia := q.ep.ia
	switch {
	case total > uint64(remote.SegmentLength):
		return refuse(op.call, ErrInvalidParameter, InvalidArg5, "the operation has %d bytes, the remote memory %d: shorten the segments, or ask the peer for more of its memory", total, remote.SegmentLength)
	case op.attribute != "" && slices.Contains(ia.unsupported, op):
		return refuse(op.call, ErrNotImplemented, NoSubtype, "the device %s does not have the operation: ask ProviderAttr.Supports before you use it", ia.attr.AdapterName)
	case op != &opRDMARead:
		return nil
	case segments > ia.attr.MaxIOVSegmentsPerRead:
		// The library takes them, and soft-iWARP then reads into the first segment alone.
		return refuse(op.call, ErrInvalidParameter, InvalidArg2, "there are %d segments, an RDMA read of %s takes at most %d: post several reads", segments, ia.attr.AdapterName, ia.attr.MaxIOVSegmentsPerRead)
	case q.misread(total, remote):
		return refuse(op.call, ErrInvalidParameter, InvalidArg5, "the operation reads %d bytes across two pages of the peer's memory, and soft-iWARP returns wrong bytes for such a read of at most %d: read each page's part by itself, or read more", total, mostMisread)
	case q.noReads:
		return refuse(op.call, ErrInvalidParameter, NoSubtype, "the endpoint was made without RDMA reads: leave EPAttr.NoRDMAReadOut false")
	}
	return nil
}

// yieldDue reports whether other goroutines should run now that requests were posted.
func (ep *EP) yieldDue() bool { return ep.ia != nil && ep.ia.software && notify.SliceOver() }

// checkPost is check for the library's refusal of an operation.
func checkPost(op string, r cgo.Return) error {
	switch {
	case r.Type() != cgo.InsufficientResources:
		return check(op, r)
	case r.Subtype() == cgo.ResourceTEVD:
		return refuse(op, ErrInsufficientResources, ResourceTEVD, "outstanding operations and completions that were not taken fill the event dispatcher: take completions, or make it longer with Resize")
	case op == opSharedReceive.call:
		return refuse(op, ErrInsufficientResources, ResourceMemory, "as many receives of the queue are outstanding as may be: take completions, or see Resize")
	}
	return refuse(op, ErrInsufficientResources, ResourceMemory, "as many operations of the endpoint are outstanding as may be: take completions, or raise EPAttr.MaxRecvDTOs or MaxRequestDTOs")
}

// refuse returns the error of segment i, whose memory the operation may not use.
func (lmr *LMR) refuse(op *operation, i int, pz *PZ) error {
	protection, privileges, needed := ProtectionRead, PrivilegesRead, "MemPrivLocalRead"
	if op.needs == MemPrivLocalWrite {
		protection, privileges, needed = ProtectionWrite, PrivilegesWrite, "MemPrivLocalWrite"
	}
	switch {
	case lmr == nil:
		return refuse(op.call, ErrInvalidParameter, InvalidArg3, "segment %d is the zero Segment: make it with LMR.Segment, or leave it out", i)
	case lmr.postPrivileges.Load() == 0:
		return lmr.obj.unusable(op.call, InvalidHandleLMR)
	case lmr.pz != pz:
		return refuse(op.call, ErrProtectionViolation, protection, "segment %d is not in the endpoint's protection zone: register its memory there", i)
	}
	return refuse(op.call, ErrPrivilegesViolation, privileges, "segment %d has the privileges %v, the operation needs %s: register its memory with that", i, lmr.privileges, needed)
}

// errNotReady says that the endpoint, or the shared receive queue, is freed, or was not made by this package. addState
// finds out more once the queue's lock is released.
var errNotReady = errors.New("endpoint not ready")

// addState adds the endpoint's state to the error of a post, which takes the gate: the
// library's error names UNCONNECTED whatever the state is.
func (ep *EP) addState(op string, err error) error {
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
	defer ep.obj.Leave()
	if required := ep.requireState(op, EPStateConnected); required != nil {
		return required
	}
	return refuse(op, ErrInvalidState, NoSubtype, "the endpoint was not connected when the operation was posted: wait for EventConnectionEstablished first")
}

// misread reports whether the kernel's soft-iWARP returns wrong bytes for an RDMA read. If
// few bytes are on two pages of the peer's memory, it copies as many from the first page
// as are on the second (siw_try_1seg).
func (q *workQueue) misread(total uint64, remote *RMRTriplet) bool {
	const page = 4096 // the peer's are not smaller
	return q.iwarp && q.ep.ia.software && total <= mostMisread && remote.VirtualAddress%page+total > page
}

const mostMisread = 32
