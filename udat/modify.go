package udat

import (
	"errors"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// fixedEPFields cannot be modified in any state.
const fixedEPFields = EPParamMask(cgo.EPFieldIAHandle | cgo.EPFieldEPState | cgo.EPFieldLocalIAAddressPtr | cgo.EPFieldLocalPortQual |
	cgo.EPFieldRemoteIAAddressPtr | cgo.EPFieldRemotePortQual)

// unsupportedEPFields could be modified, but no provider knows what they are for.
const unsupportedEPFields = EPParamMask(cgo.EPFieldServiceType | cgo.EPFieldQOS | cgo.EPFieldComm | cgo.EPFieldSRQHandle | cgo.EPFieldSRQSoftHW |
	cgo.EPFieldNumTransportAttr | cgo.EPFieldTransportSpecificAttr | cgo.EPFieldNumProviderAttr | cgo.EPFieldProviderSpecificAttr)

// Modify changes the parameters in mask to those of param, all or none. It fails with
//
//   - ErrInvalidState, unless the endpoint is UNCONNECTED or, except for the protection zone,
//     RESERVED or PASSIVE_CONNECTION_PENDING, and for other completion flags while receives are
//     posted
//   - ErrInvalidState, subtype InvalidStateEVDInUse, while events of the endpoint are queued on an
//     EVD that it would no longer use: take them first
//   - ErrInsufficientResources, subtype ResourceTEVD, if a new receive EVD has no room for the
//     posted receives: see CreateEVD
//   - ErrInvalidParameter for a value out of range or, with errors.ErrUnsupported, for a field that
//     no provider supports
//
// Posted receives stay, but fail outside a new zone, as after LMR.Free.
//
//	Implements: DAT_RETURN dat_ep_modify(IN DAT_EP_HANDLE ep_handle,
//	    IN DAT_EP_PARAM_MASK ep_param_mask, IN const DAT_EP_PARAM *ep_param)
func (ep *EP) Modify(mask EPParamMask, param *EPParam) (err error) {
	const op = "dat_ep_modify"
	if err := objectOf(ep).usable(op, InvalidHandleEP); err != nil {
		return err
	}
	if err := checkMask(op, mask, param); err != nil {
		return err
	}
	if err := ep.lockRequests(op); err != nil {
		return err
	}
	defer ep.unlockRequests()
	var now cgo.EPParam
	if r := cgo.EPQuery(ep.handle, cgo.EPFieldEPAttrAll, &now); !r.OK() {
		return check(op, r)
	}
	p := *ep.parts
	mask = p.assign(mask, param, &now.EPAttr)
	leave, err := enterAll(op, append(p.arguments(ep.ia), ep.parts.arguments(ep.ia)...)...)
	if err != nil {
		return err
	}
	defer leave()
	if err := p.check(op, ep.ia, mask); err != nil {
		return err
	}
	call := shadow.Modify
	if mask&EPFieldPZ != 0 {
		call = shadow.ModifyPZ
	}
	defaults, r := ep.ia.defaultAttr()
	if !r.OK() {
		return check(op, r)
	}
	defer ep.shadow.Begin(call).End(&err)
	ep.recv.mu.Lock()
	defer ep.recv.mu.Unlock()
	if err := ep.join(op, &p); err != nil {
		return err
	}
	native := cgo.EPParam{
		PZHandle:         p.pz.handle,
		RecvEVDHandle:    p.recv.nativeHandle(),
		RequestEVDHandle: p.request.nativeHandle(),
		ConnectEVDHandle: p.connect.nativeHandle(),
		EPAttr:           *p.native(defaults),
	}
	r = cgo.EPModify(ep.handle, cgo.EPParamMask(mask), &native)
	if !r.OK() {
		ep.restore(&p)
	}
	const remedy = "the endpoint must be unconnected or, except for its protection zone, reserved: Disconnect it, wait for EventConnectionDisconnected, and Reset it, " +
		"or free its reserved service point; and for other completion flags no receives may be posted: Reset takes them back"
	if r.Type() == cgo.InvalidState && r.Subtype() == cgo.InvalidStateEVDInUse {
		return refuse(op, ErrInvalidState, InvalidStateEVDInUse, "events of the endpoint wait on an event dispatcher that it would use no more: take them first")
	}
	if err := p.checkResources(op, r); err != nil {
		return err
	}
	if err := checkState(op, r, remedy); err != nil {
		return err
	}
	former := ep.parts
	ep.parts = &p
	ep.restore(former)
	ep.recv.pz, ep.request.pz = p.pz, p.pz
	ep.obj.SetParents(p.parents(ep.ia))
	return nil
}

// checkMask refuses fields that no endpoint can change.
func checkMask(op string, mask EPParamMask, param *EPParam) error {
	switch {
	case param == nil:
		return refuse(op, ErrInvalidParameter, InvalidArg3, "the parameters are nil: pass an EPParam with the fields that the mask names")
	case mask&^EPParamMask(cgo.EPFieldAll) != 0:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the mask has the unknown bits 0x%x: take them out", uint64(mask&^EPParamMask(cgo.EPFieldAll)))
	case mask&fixedEPFields != 0:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "adapter, state, addresses and port qualifiers cannot be modified: take their bits out of the mask")
	case mask&unsupportedEPFields != 0:
		return logged(&Error{Op: op, Return: classError | Return(ErrInvalidParameter) | Return(InvalidArg2), Err: errors.ErrUnsupported,
			Detail: "service type, quality of service, communicator, SRQ, watermark and transport or provider specific attributes cannot be modified: take their bits out of the mask"})
	}
	return nil
}

// assign takes over the fields of param that mask names. The library takes no others of the
// attributes, except those of a direction, which follow its event dispatcher: they are 0 without
// one. It returns the mask with them.
func (p *epParts) assign(mask EPParamMask, param *EPParam, now *cgo.EPAttr) EPParamMask {
	assign(&p.pz, param.PZ, mask&EPFieldPZ)
	assign(&p.recv, param.RecvEVD, mask&EPFieldRecvEVD)
	assign(&p.request, param.RequestEVD, mask&EPFieldRequestEVD)
	assign(&p.connect, param.ConnectEVD, mask&EPFieldConnectEVD)
	former := p.attr
	p.attr = param.Attr
	assign(&p.attr.RecvCompletionFlags, former.RecvCompletionFlags, ^mask&EPFieldRecvCompletionFlags)
	assign(&p.attr.RequestCompletionFlags, former.RequestCompletionFlags, ^mask&EPFieldRequestCompletionFlags)
	follow := func(of EPParamMask, evd *EVD, field EPParamMask, value *int, now int32) {
		if mask&of != 0 && mask&field == 0 {
			mask |= field
			if *value = int(now); evd == nil {
				*value = 0
			}
		}
	}
	follow(EPFieldRecvEVD, p.recv, EPFieldMaxRecvDTOs, &p.attr.MaxRecvDTOs, now.MaxRecvDTOs)
	follow(EPFieldRequestEVD, p.request, EPFieldMaxRequestDTOs, &p.attr.MaxRequestDTOs, now.MaxRequestDTOs)
	follow(EPFieldRequestEVD, p.request, EPFieldMaxRequestIOV, &p.attr.MaxRequestIOV, now.MaxRequestIOV)
	return mask
}

func assign[T any](to *T, value T, wanted EPParamMask) {
	if wanted != 0 {
		*to = value
	}
}
