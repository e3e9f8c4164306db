package udat

import (
	"sync/atomic"

	"github.com/goudat/goudat/cgo"
)

// RMR is a remote memory region: a window that is bound to one piece of registered memory after
// another. Peers reach the memory through it from the completion of a bind to that of the next, or
// to Free, with the privileges of the bind. A bind is posted to the adapter; registering and
// freeing memory are system calls.
//
// All peers of the window's protection zone reach it, and it stays bound when a connection ends.
// Keys repeat after 256 binds, so an old RMRTriplet may become valid again. With soft-RoCE a peer
// reaches the whole LMR through it.
type RMR struct {
	obj    object
	pz     *PZ
	handle cgo.RMRHandle
	lmr    atomic.Pointer[LMR] // of the latest bind
}

func (rmr *RMR) object() *object { return &rmr.obj }

// CreateRMR creates an unbound region in a protection zone. It fails with ErrModelNotSupported if
// the device has no memory windows (IAAttr.MaxRMRs is 0), such as soft-iWARP: register memory with
// remote privileges.
//
//	Implements: DAT_RETURN dat_rmr_create(IN DAT_PZ_HANDLE pz_handle,
//	    OUT DAT_RMR_HANDLE *rmr_handle)
func CreateRMR(pz *PZ) (*RMR, error) {
	const op = "dat_rmr_create"
	leave, err := enterAll(op, pz.arguments()...)
	if err != nil {
		return nil, err
	}
	defer leave()
	handle, r := cgo.RMRCreate(pz.handle)
	if ReturnType(r.Type()) == ErrModelNotSupported {
		return nil, refuse(op, ErrModelNotSupported, NoSubtype, "the device %s has no memory windows: register memory with remote privileges instead", pz.ia.attr.AdapterName)
	}
	if err := checkCreate(op, r); err != nil {
		return nil, err
	}
	rmr := &RMR{pz: pz, handle: handle}
	rmr.obj.born("remote memory region", cgo.Handle(handle), NoSubtype, rmr.Free, &pz.obj.Object, &pz.ia.obj.Object)
	pz.ia.addObject(rmr)
	return rmr, nil
}

const remotePrivileges = MemPrivRemoteRead | MemPrivRemoteWrite | MemPrivIBRemoteAtomic

// Bind posts a bind of the region to the memory of a segment, which replaces its binding. A Segment
// of no bytes unbinds it; the triplet is then empty and privileges do not matter. The completion,
// an EventRMRBindCompletion with the cookie, goes to the request EVD of the endpoint. From then on
// a peer with the RMRTriplet reaches the memory; a message that is sent after the bind on the same
// endpoint arrives after that. A failed bind leaves the region unbound.
//
// privileges must have one of MemPrivRemoteRead, MemPrivRemoteWrite and MemPrivIBRemoteAtomic. The
// memory itself needs MemPrivLocalWrite only, and cannot be freed while bound. flags must be
// CompletionDefault.
//
// If Bind fails, nothing is posted. It fails with ErrInvalidState before a connection, in
// DISCONNECT_PENDING, until the completion of another bind of the region is taken, and if there is
// no binding to end; ErrProtectionViolation unless region, endpoint and memory are in one
// protection zone; or with the errors of PostSend. In DISCONNECTED binds complete with
// DTOErrFlushed.
//
//	Implements: DAT_RETURN dat_rmr_bind(IN DAT_RMR_HANDLE rmr_handle, IN DAT_LMR_HANDLE lmr_handle,
//	    IN const DAT_LMR_TRIPLET *lmr_triplet, IN DAT_MEM_PRIV_FLAGS mem_priv,
//	    IN DAT_VA_TYPE va_type, IN DAT_EP_HANDLE ep_handle, IN DAT_RMR_COOKIE user_cookie,
//	    IN DAT_COMPLETION_FLAGS completion_flags, OUT DAT_RMR_CONTEXT *context)
func (rmr *RMR) Bind(segment Segment, privileges MemPriv, ep *EP, cookie uint64, flags CompletionFlags) (triplet RMRTriplet, err error) {
	if ep == nil {
		if err := objectOf(rmr).usable(bindOp, InvalidHandleRMR); err != nil {
			return RMRTriplet{}, err
		}
		return RMRTriplet{}, objectOf(ep).unusable(bindOp, InvalidHandleEP)
	}
	q := &ep.request
	q.mu.Lock()
	defer q.mu.Unlock()
	defer func() { ep.ia.refusedPost(err) }()
	if err := objectOf(rmr).enter(bindOp, InvalidHandleRMR); err != nil {
		return RMRTriplet{}, err
	}
	defer rmr.obj.Leave()
	iov := []Segment{segment}
	if segment.Len() == 0 {
		segment, iov, privileges = Segment{}, nil, 0
	} else if privileges&remotePrivileges == 0 || privileges&^knownPrivileges != 0 {
		return RMRTriplet{}, refuse(bindOp, ErrInvalidParameter, InvalidArg4, "the privileges are %v, they must have some of MemPrivRemoteRead, MemPrivRemoteWrite and MemPrivIBRemoteAtomic", privileges)
	}
	q.posts, q.iov = q.posts[:0], q.iov[:0]
	if err := q.add(&opBind, &Post{Segments: iov, Cookie: cookie, Flags: flags}, argument{&ep.obj, InvalidHandleEP}); err != nil {
		return RMRTriplet{}, err
	}
	var lmr cgo.LMRHandle
	if segment.lmr != nil {
		if err := segment.lmr.obj.enter(bindOp, InvalidHandleLMR); err != nil {
			return RMRTriplet{}, err
		}
		defer segment.lmr.obj.Leave()
		lmr = segment.lmr.handle
	}
	former := rmr.lmr.Swap(segment.lmr)
	context, r := cgo.RMRBind(rmr.handle, lmr, &segment.triplet, cgo.MemPriv(privileges), cgo.VATypeVA, ep.handle, cookie, cgo.CompletionFlags(flags))
	if !r.OK() {
		rmr.lmr.Store(former)
		return RMRTriplet{}, rmr.checkBind(q, segment, r)
	}
	ep.ia.counters.Load().posted(1)
	if segment.lmr == nil {
		return RMRTriplet{}, nil
	}
	return RMRTriplet{segment.triplet.VirtualAddress, segment.triplet.SegmentLength, context}, nil
}

// checkBind is workQueue.refused for a bind. A refusal for the region's state has no subtype.
func (rmr *RMR) checkBind(q *workQueue, segment Segment, r cgo.Return) error {
	switch t := ReturnType(r.Type()); {
	case t == ErrProtectionViolation:
		return refuse(bindOp, t, NoSubtype, "the region is not in the endpoint's protection zone: create it there")
	case t == ErrPrivilegesViolation:
		return refuse(bindOp, t, PrivilegesWrite, "the memory has the privileges %v: register it with MemPrivLocalWrite, which windows need", segment.lmr.privileges)
	case t != ErrInvalidState || ReturnSubtype(r.Subtype()) != NoSubtype:
		return q.refused(&opBind, len(q.iov), r)
	}
	if native, r := rmr.query(); segment.lmr == nil && r.OK() && native.LMRTriplet.SegmentLength == 0 {
		return refuse(bindOp, ErrInvalidState, NoSubtype, "the region is bound to nothing, or will be: there is no binding to end")
	}
	return refuse(bindOp, ErrInvalidState, NoSubtype, "another bind of the region is outstanding: take its completion first")
}

// RMRParam holds the parameters of a remote memory region. Without a binding, LMR is nil, and
// Address and Length are 0.
type RMRParam struct {
	IA         *IA
	PZ         *PZ
	LMR        *LMR
	Address    uint64 // virtual address of the first byte
	Length     int
	Privileges MemPriv
	RMRContext uint32 // as in the RMRTriplet for a peer
}

// Query returns the parameters of the region, an outstanding bind included.
//
//	Implements: DAT_RETURN dat_rmr_query(IN DAT_RMR_HANDLE rmr_handle,
//	    IN DAT_RMR_PARAM_MASK rmr_param_mask, OUT DAT_RMR_PARAM *rmr_param)
func (rmr *RMR) Query() (RMRParam, error) {
	return query(objectOf(rmr), "dat_rmr_query", InvalidHandleRMR, func() (RMRParam, cgo.Return) {
		native, r := rmr.query()
		p := RMRParam{
			IA:         rmr.pz.ia,
			PZ:         rmr.pz,
			Address:    native.LMRTriplet.VirtualAddress,
			Length:     int(native.LMRTriplet.SegmentLength),
			Privileges: MemPriv(native.MemPriv),
			RMRContext: native.RMRContext,
		}
		if lmr := rmr.lmr.Load(); p.Length > 0 && lmr != nil && lmr.lmrContext == native.LMRTriplet.LMRContext {
			p.LMR = lmr
		}
		return p, r
	})
}

// query fills all fields. The library refuses a mask with the triplet of an unbound region.
func (rmr *RMR) query() (native cgo.RMRParam, r cgo.Return) {
	r = cgo.RMRQuery(rmr.handle, cgo.RMRFieldAll&^cgo.RMRFieldLMRTriplet, &native)
	return native, r
}

// Free frees the region: peers cannot use it any more. It fails with ErrInvalidState until the
// completion of a bind is taken, or its endpoint freed or reset.
//
//	Implements: DAT_RETURN dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle)
func (rmr *RMR) Free() error {
	const op = "dat_rmr_free"
	return objectOf(rmr).seal(op, InvalidHandleRMR, func() error {
		err := checkState(op, cgo.RMRFree(rmr.handle), "a bind of the region is outstanding: take its completion, or free or reset the endpoint")
		if err != nil {
			return err
		}
		rmr.pz.ia.removeObject(rmr)
		return nil
	})
}
