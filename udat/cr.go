package udat

import (
	"context"
	"errors"
	"net/netip"
	"sync"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// CR is a connection request that arrived on a service point. Accept or Reject answers it, once;
// later calls fail with ErrClosed.
type CR struct {
	obj      object
	ia       *IA
	handle   cgo.CRHandle
	param    CRParam
	queryErr error
}

func (cr *CR) object() *object { return &cr.obj }

// CRParam holds the parameters of a connection request.
type CRParam struct {
	PSP           *PSP     // where the request arrived, or nil
	RSP           *RSP     // the same
	ConnQual      ConnQual // of the service point
	LocalEP       *EP      // reserved by the RSP, nil for a PSP
	RemoteAddress netip.Addr
	PrivateData   []byte // of the peer's Connect; CMA pads it with zeros to its limit
}

// newCR asks the library about the request: it forgets it with the answer.
func newCR(s *service, data *cgo.CRArrivalEventData) *CR {
	cr := &CR{ia: s.ia, handle: data.CRHandle, param: CRParam{PSP: s.psp, RSP: s.rsp, ConnQual: s.qual, LocalEP: s.ep}}
	var param cgo.CRParam
	cr.queryErr = check(queryCROp, cgo.CRQuery(data.CRHandle, cgo.CRFieldAll, &param))
	if cr.queryErr == nil {
		cr.param.RemoteAddress = cgo.SockAddrAt(param.RemoteIAAddressPtr).Addr()
		if param.PrivateData != 0 && param.PrivateDataSize > 0 {
			cr.param.PrivateData = make([]byte, param.PrivateDataSize)
			cgo.CopyOut(cr.param.PrivateData, param.PrivateData)
		}
	}
	cr.obj.SetGate(new(sync.Mutex))
	cr.obj.born("connection request", cgo.Handle(cr.handle), NoSubtype, func() error { return cr.Reject(nil) }, &s.obj.Object, &s.ia.obj.Object)
	return cr
}

// Query returns the parameters of the request, even after the answer. Do not change PrivateData,
// which all calls share.
//
//	Implements: DAT_RETURN dat_cr_query(IN DAT_CR_HANDLE cr_handle,
//	    IN DAT_CR_PARAM_MASK cr_param_mask, OUT DAT_CR_PARAM *cr_param)
func (cr *CR) Query() (CRParam, error) {
	if cr == nil || cr.ia == nil {
		return CRParam{}, refuse(queryCROp, ErrInvalidHandle, InvalidHandleCR, "the request is nil or was not made by this package: take it from Event.CR")
	}
	return cr.param, cr.queryErr
}

const queryCROp = "dat_cr_query"

// Accept accepts the request on an unconnected endpoint of the same adapter and sends privateData
// along. For a request to an RSP, ep is nil. The outcome is an event on the endpoint's connect EVD:
// EventConnectionEstablished or a failure. Accept answers the request even if it fails, unless it
// refuses its arguments.
//
// If the peer has given up, Accept fails with InvalidHandleCR and leaves the endpoint unchanged. Or
// the outcome is EventConnectionAcceptCompletionError within 60 s; on iWARP, a connection that ends
// at once. Then take the next request. On iWARP the endpoint may post requests only after data of
// the peer has arrived, though not all adapters insist: see docs/native.md.
//
//	Implements: DAT_RETURN dat_cr_accept(IN DAT_CR_HANDLE cr_handle, IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data)
func (cr *CR) Accept(ep *EP, privateData []byte) error {
	const op = "dat_cr_accept"
	if cr != nil && cr.param.LocalEP != nil {
		if ep != nil && ep != cr.param.LocalEP {
			return refuse(op, ErrInvalidHandle, InvalidHandleEP, "the request is for a reserved endpoint: leave the endpoint out")
		}
		ep = cr.param.LocalEP
	}
	if ep == nil {
		return refuse(op, ErrInvalidHandle, InvalidHandleEP, "the endpoint is nil: pass one, or Reject the request")
	}
	return cr.answer(op, privateData, InvalidArg3, func(call *shadow.CallInProgress) (bool, error) {
		answered, err := ep.accept(op, cr, privateData, call)
		if answered && errors.Is(err, InvalidHandleCR) {
			err = refuse(op, ErrInvalidHandle, InvalidHandleCR, "the peer has gone, and the request with it: wait for the next one")
		}
		return answered, err
	})
}

// Reject rejects the request. The peer gets EventConnectionPeerRejected with privateData. If the
// peer has given up, Reject does nothing.
//
//	Implements: DAT_RETURN dat_cr_reject(IN DAT_CR_HANDLE cr_handle, IN DAT_COUNT private_data_size,
//	    IN const DAT_PVOID private_data)
func (cr *CR) Reject(privateData []byte) error {
	const op = "dat_cr_reject"
	return cr.answer(op, privateData, InvalidArg2, func(call *shadow.CallInProgress) (answered bool, err error) {
		if ep := cr.param.LocalEP; ep != nil {
			*call = ep.shadow.Begin(shadow.Reject)
		}
		return true, check(op, cgo.CRReject(cr.handle, privateData))
	})
}

// answer runs native once. It reports whether it got as far as the library,
// which consumes the request even when the answer fails. native begins call if that concerns an
// endpoint.
func (cr *CR) answer(op string, privateData []byte, arg ReturnSubtype, native func(call *shadow.CallInProgress) (answered bool, err error)) (err error) {
	var outcome error
	var call shadow.CallInProgress
	defer func() { call.End(&err) }() // not before the request is dead: a report may panic
	err = objectOf(cr).seal(op, InvalidHandleCR, func() error {
		if err := cr.ia.checkPrivateData(op, privateData, arg); err != nil {
			return err
		}
		answered, err := native(&call)
		if !answered {
			return err
		}
		outcome = err
		return nil
	})
	if err != nil {
		return err
	}
	return outcome
}

// accept is the endpoint's part of CR.Accept. It reports whether the library has seen the request.
func (ep *EP) accept(op string, cr *CR, privateData []byte, call *shadow.CallInProgress) (answered bool, err error) {
	if err := ep.lockRequests(op); err != nil {
		return false, err
	}
	defer ep.unlockRequests()
	if err := ep.obj.requireAdapterOf(&cr.obj, op, InvalidHandleEP); err != nil {
		return false, err
	}
	from, rule, handle := EPStateUnconnected, shadow.Accept, ep.handle
	if cr.param.RSP != nil {
		from, rule, handle = EPStatePassiveConnectionPending, shadow.AcceptReserved, 0 // the library knows it
	}
	if err := ep.requireConnectable(op, from); err != nil {
		return false, err
	}
	*call = ep.shadow.Begin(rule)
	ep.recv.mu.Lock() // an accept that fails makes the library post the receives again
	r := cgo.CRAccept(cr.handle, handle, privateData)
	ep.recv.mu.Unlock()
	if !r.OK() {
		cgo.CRReject(cr.handle, nil) // until then the library keeps what it fails to accept, and reserves the endpoint
	}
	return true, check(op, r)
}

// AcceptAndWait calls Accept and waits for the outcome like ConnectAndWait.
func (cr *CR) AcceptAndWait(ctx context.Context, ep *EP, privateData []byte) error {
	if err := cr.Accept(ep, privateData); err != nil {
		return err
	}
	if ep == nil {
		ep = cr.param.LocalEP
	}
	_, err := ep.waitEstablished(ctx)
	return err
}
