package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// RSP is a reserved service point, for one connection request to one endpoint.
type RSP struct {
	service service
}

func (rsp *RSP) object() *object { return &rsp.service.obj }

// CreateRSP listens on a connection qualifier for one request for ep, an EventConnectionRequest on
// evd. Further requests are rejected. ep must be UNCONNECTED and becomes RESERVED, with the request
// PASSIVE_CONNECTION_PENDING. In both states it can be modified, except for its protection zone,
// but neither freed nor connected. It is UNCONNECTED again if the request is rejected, or the
// service point freed before Accept.
//
//	Implements: DAT_RETURN dat_rsp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
//	    IN DAT_EP_HANDLE ep_handle, IN DAT_EVD_HANDLE evd_handle, OUT DAT_RSP_HANDLE *rsp_handle)
func CreateRSP(ia *IA, qual ConnQual, ep *EP, evd *EVD) (made *RSP, err error) {
	const op = "dat_rsp_create"
	if err := ep.lockRequests(op); err != nil {
		return nil, err
	}
	defer ep.unlockRequests()
	leave, err := enterAll(op, argument{objectOf(ia), InvalidHandleIA}, argument{objectOf(evd), InvalidHandleEVDCR})
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := qual.check(op, InvalidArg2); err != nil {
		return nil, err
	}
	if err := ep.obj.requireAdapterOf(&ia.obj, op, InvalidHandleEP); err != nil {
		return nil, err
	}
	if err := ep.requireConnectable(op, EPStateUnconnected); err != nil {
		return nil, err
	}
	rsp := &RSP{service{ia: ia, evd: evd, qual: qual, ep: ep}}
	rsp.service.rsp = rsp
	defer ep.shadow.Begin(shadow.RSPCreate).End(&err)
	err = rsp.service.listen(op, "reserved service point", rsp.Free, func() (cgo.Handle, cgo.Return) {
		handle, r := cgo.RSPCreate(ia.handle, uint64(qual), ep.handle, evd.queue.Handle())
		return cgo.Handle(handle), r
	})
	if err != nil {
		return nil, err
	}
	return rsp, nil
}

// RSPParam holds the parameters of a reserved service point.
type RSPParam struct {
	IA       *IA
	ConnQual ConnQual
	EVD      *EVD
	EP       *EP
}

// Query returns the parameters of the service point.
//
//	Implements: DAT_RETURN dat_rsp_query(IN DAT_RSP_HANDLE rsp_handle,
//	    IN DAT_RSP_PARAM_MASK rsp_param_mask, OUT DAT_RSP_PARAM *rsp_param)
func (rsp *RSP) Query() (RSPParam, error) {
	return query(objectOf(rsp), "dat_rsp_query", InvalidHandleRSP, func() (RSPParam, cgo.Return) {
		s := &rsp.service
		var native cgo.RSPParam
		r := cgo.RSPQuery(cgo.RSPHandle(s.obj.handle), cgo.RSPFieldAll, &native)
		return RSPParam{IA: s.ia, ConnQual: ConnQual(native.ConnQual), EVD: s.evd, EP: s.ep}, r
	})
}

// Free ends the reservation, and rejects an unanswered request.
//
//	Implements: DAT_RETURN dat_rsp_free(IN DAT_RSP_HANDLE rsp_handle)
func (rsp *RSP) Free() (err error) {
	const op = "dat_rsp_free"
	if rsp == nil {
		return objectOf(rsp).enter(op, InvalidHandleRSP)
	}
	var call shadow.CallInProgress
	defer func() { call.End(&err) }() // not before the service point is dead: a report may panic
	return rsp.service.free(op, InvalidHandleRSP, func() error {
		call = rsp.service.ep.shadow.Begin(shadow.RSPFree)
		err := check(op, cgo.RSPFree(cgo.RSPHandle(rsp.service.obj.handle)))
		rsp.service.evd.queue.Lock() // a goroutine that has just taken a request rejects it, which frees the endpoint
		defer rsp.service.evd.queue.Unlock()
		return err
	})
}
