package udat

import (
	"math"
	"sync"

	"github.com/goudat/goudat/cgo"
)

// A workQueue is one of the library's queues of operations: the receives or the requests of an
// endpoint, or a shared receive queue. The library does not lock posts, so mu does.
type workQueue struct {
	mu     sync.Mutex
	handle cgo.Handle // 0 once the endpoint, or the shared receive queue, is freed
	ep     *EP        // nil for a shared receive queue
	pz     *PZ

	iov   []cgo.LMRTriplet // scratch
	posts []cgo.Post       // scratch
}

// add adds the native form of an operation to q.posts and q.iov. It refuses what the library cannot
// see, or does not look at. The caller holds mu; owner is what the queue belongs to.
func (q *workQueue) add(op *operation, p *Post, owner argument) error {
	switch {
	case q.handle == 0:
		return owner.object.unusable(op.call, owner.invalid)
	case p.Flags&^op.flags != 0:
		return refuse(op.call, ErrInvalidParameter, op.flagsArg, "the completion flags are %v, they may have %v: leave CompletionDefault", p.Flags, op.flags)
	}
	segments := p.Segments // once: a program that changes it meanwhile must not break more than its post
	total, iov := uint64(0), q.iov
	for i := range segments {
		s := &segments[i]
		if lmr := s.lmr; lmr == nil || lmr.pz != q.pz || lmr.postPrivileges.Load()&uint32(op.needs) == 0 {
			return lmr.refuse(op, i, q.pz)
		}
		total += uint64(s.triplet.SegmentLength)
		iov = append(iov, s.triplet)
	}
	if op.remote && total > uint64(p.Remote.SegmentLength) {
		return refuse(op.call, ErrInvalidParameter, InvalidArg5, "the operation has %d bytes, the remote memory %d: shorten the segments, or ask the peer for more of its memory", total, p.Remote.SegmentLength)
	}
	q.posts = append(q.posts, cgo.Post{Operation: op.dto.native(), Segments: uint32(len(segments)), Cookie: p.Cookie,
		Remote: cgo.RMRTriplet(p.Remote), Flags: cgo.CompletionFlags(p.Flags)})
	q.iov = iov
	return nil
}

// refused is check for a refusal of an operation with so many segments. The caller holds mu.
func (q *workQueue) refused(op *operation, segments int, r cgo.Return) error {
	ia, subtype := q.pz.ia, ReturnSubtype(r.Subtype())
	queue, room, iov, most := "shared receive queue", "see SRQ.Resize", "SRQAttr.MaxRecvIOV", ia.attr.MaxIOVSegmentsPerDTO
	var p cgo.EPParam
	if q.ep != nil {
		cgo.EPQuery(q.ep.handle, cgo.EPFieldEPAttrAll, &p)
		evd := q.ep.parts.request
		queue, room, iov, most = "endpoint", "raise EPAttr.MaxRequestDTOs", "EPAttr.MaxRequestIOV", int(p.EPAttr.MaxRequestIOV)
		if op == &opReceive {
			evd, room, iov, most = q.ep.parts.recv, "raise EPAttr.MaxRecvDTOs", "EPAttr.MaxRecvIOV", int(p.EPAttr.MaxRecvIOV)
		}
		if evd == nil {
			return refuse(op.call, ErrInvalidState, InvalidStateEPNotReady, "the endpoint was made without an event dispatcher for the completions: set one with CreateEP or Modify")
		}
	}
	switch t := ReturnType(r.Type()); {
	case t == ErrInsufficientResources && subtype == ResourceTEVD:
		return refuse(op.call, t, subtype, "outstanding operations and completions that were not taken fill the event dispatcher: take completions, or make it longer with Resize")
	case t == ErrInsufficientResources:
		return refuse(op.call, t, ResourceMemory, "as many operations of the %s are outstanding as may be: take completions, or %s", queue, room)
	case t == ErrInvalidParameter && subtype == InvalidArg2 && op == &opRDMARead && segments > ia.attr.MaxIOVSegmentsPerRead:
		return refuse(op.call, t, subtype, "there are %d segments, an RDMA read of %s takes at most %d: post several reads", segments, ia.attr.AdapterName, ia.attr.MaxIOVSegmentsPerRead)
	case t == ErrInvalidParameter && subtype == InvalidArg2:
		return refuse(op.call, t, subtype, "there are %d segments, the %s takes at most %d: post several operations, or raise %s", segments, queue, most, iov)
	case t == ErrInvalidParameter && subtype == InvalidArg3:
		return refuse(op.call, t, subtype, "the operation has more bytes than %s takes, IAAttr.MaxMessageSize, %d: post several operations", ia.attr.AdapterName, ia.attr.MaxMessageSize)
	case t == ErrInvalidParameter && op.remote && op.needs == MemPrivLocalWrite && p.EPAttr.MaxRDMAReadOut == 0:
		return refuse(op.call, t, subtype, "the endpoint was made without RDMA reads, which atomic operations need too: leave EPAttr.NoRDMAReadOut false")
	case t == ErrInvalidState && subtype == InvalidStateSRQInUse:
		return refuse(op.call, t, subtype, "the endpoint receives through a shared receive queue: post to that")
	case t == ErrInvalidState:
		for state, named := range stateSubtypes {
			if subtype == named {
				return refuseState(op.call, EPStateConnected, state)
			}
		}
	case t == ErrNotImplemented:
		return refuse(op.call, t, subtype, "the device %s does not have the operation: ask ProviderAttr.Supports before you use it", ia.attr.AdapterName)
	}
	return check(op.call, r)
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

// Post is one operation of EP.PostBatch, with the arguments of its own method.
type Post struct {
	Operation DTO // DTOSend, DTOReceive, DTORDMARead or DTORDMAWrite; the zero value is none of them, and refused
	Segments  []Segment
	Cookie    uint64
	Remote    RMRTriplet // of RDMA reads and writes
	Flags     CompletionFlags
}

// count returns a number for the library, which refuses one that is out of range.
func count(n int) int32 { return int32(min(max(n, -1), math.MaxInt32)) }

// operation describes operations of one kind.
type operation struct {
	call     string
	dto      DTO             // its name in events, and for the library
	needs    MemPriv         // of local memory
	flags    CompletionFlags // flags that it may have
	flagsArg ReturnSubtype   // by which an error names the flags
	remote   bool            // it has remote memory
}

const (
	requestPostFlags = CompletionSuppress | CompletionSolicitedWait | CompletionUnsignalled | CompletionBarrierFence
	recvPostFlags    = CompletionUnsignalled
)

const bindOp = "dat_rmr_bind"

var (
	opSend           = operation{call: "dat_ep_post_send", dto: DTOSend, needs: MemPrivLocalRead, flags: requestPostFlags, flagsArg: InvalidArg5}
	opReceive        = operation{call: "dat_ep_post_recv", dto: DTOReceive, needs: MemPrivLocalWrite, flags: recvPostFlags, flagsArg: InvalidArg5}
	opRDMARead       = operation{call: "dat_ep_post_rdma_read", dto: DTORDMARead, needs: MemPrivLocalWrite, flags: requestPostFlags, flagsArg: InvalidArg6, remote: true}
	opRDMAWrite      = operation{call: "dat_ep_post_rdma_write", dto: DTORDMAWrite, needs: MemPrivLocalRead, flags: requestPostFlags, flagsArg: InvalidArg6, remote: true}
	opRDMAWriteImmed = operation{call: "dat_ib_post_rdma_write_immed", dto: DTOIBRDMAWriteImmed, needs: MemPrivLocalRead, flags: requestPostFlags, flagsArg: InvalidArg7, remote: true}
	opFetchAndAdd    = operation{call: "dat_ib_post_fetch_and_add", dto: DTOIBFetchAdd, needs: MemPrivLocalWrite, flags: requestPostFlags, flagsArg: InvalidArg6, remote: true}
	opCmpAndSwap     = operation{call: "dat_ib_post_cmp_and_swap", dto: DTOIBCmpSwap, needs: MemPrivLocalWrite, flags: requestPostFlags, flagsArg: InvalidArg6, remote: true}
	opSharedReceive  = operation{call: "dat_srq_post_recv", dto: DTOReceive, needs: MemPrivLocalWrite}
	opBind           = operation{call: bindOp, dto: DTOBindMW, needs: knownPrivileges, flagsArg: InvalidArg8}
)

// batchedOperation returns what a Post does, nil for an operation that is not posted in a batch.
func batchedOperation(o DTO) *operation {
	switch o {
	case DTOSend:
		return &opSend
	case DTOReceive:
		return &opReceive
	case DTORDMARead:
		return &opRDMARead
	case DTORDMAWrite:
		return &opRDMAWrite
	}
	return nil
}
