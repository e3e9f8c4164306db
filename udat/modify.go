package udat

// fixedEPFields cannot be modified in any state.
const fixedEPFields = EPFieldIAHandle | EPFieldEPState | EPFieldLocalIAAddressPtr | EPFieldLocalPortQual |
	EPFieldRemoteIAAddressPtr | EPFieldRemotePortQual

// unsupportedEPFields could be modified, but no provider knows what they are for.
const unsupportedEPFields = EPFieldComm | EPFieldSRQHandle | EPFieldSRQSoftHW |
	EPFieldNumTransportAttr | EPFieldTransportSpecificAttr | EPFieldNumProviderAttr | EPFieldProviderSpecificAttr

// Modify changes the parameters that mask names to those in param, all of them
// or, when it fails, none. The endpoint must be UNCONNECTED; receives that are
// posted stay so. Receives whose memory is not in a new protection zone
// complete with DTOErrLocalProtection.
//
// It fails with ErrInvalidParameter for fields that cannot change and for
// values that are out of range, with ErrInvalidState in any other state, and
// with ErrNotImplemented for fields that no provider supports.
//
// The native endpoint is replaced: the library's own call destroys the queue
// pair of a live endpoint.
//
// Implements:
//
//	DAT_RETURN dat_ep_modify(IN DAT_EP_HANDLE ep_handle,
//	                         IN DAT_EP_PARAM_MASK ep_param_mask,
//	                         IN DAT_EP_PARAM *ep_param)
func (ep *EP) Modify(mask EPParamMask, param *EPParam) error {
	const op = "dat_ep_modify"
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	switch {
	case param == nil:
		return refuse(op, ErrInvalidParameter, InvalidArg3, "the parameters are nil")
	case mask&^EPFieldAll != 0:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the mask has unknown bits: 0x%x", uint64(mask&^EPFieldAll))
	case mask&fixedEPFields != 0:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "adapter, state, addresses and port qualifiers cannot be modified")
	case mask&unsupportedEPFields != 0:
		return refuse(op, ErrNotImplemented, NoSubtype, "communicator, SRQ, watermark and transport or provider specific attributes cannot be modified")
	}
	ep.control.Lock()
	defer ep.control.Unlock()
	p, err := ep.merge(op, mask, param)
	if err != nil || mask == 0 {
		return err
	}
	leave, err := enterAll(op, epArguments(ep.ia, p.pz, p.recv, p.request, p.connect)...)
	if err != nil {
		return err
	}
	defer leave()
	return ep.renew(op, p)
}

// merge gives the parts of the endpoint with those of param that mask names.
func (ep *EP) merge(op string, mask EPParamMask, param *EPParam) (epParts, error) {
	if err := ep.obj.enter(op, InvalidHandleEP); err != nil {
		return epParts{}, err
	}
	defer ep.obj.leave()
	if err := ep.requireState(op, EPStateUnconnected); err != nil {
		return epParts{}, err
	}
	p := ep.parts()
	assign(&p.pz, param.PZ, mask&EPFieldPZHandle)
	assign(&p.recv, param.RecvEVD, mask&EPFieldRecvEVDHandle)
	assign(&p.request, param.RequestEVD, mask&EPFieldRequestEVDHandle)
	assign(&p.connect, param.ConnectEVD, mask&EPFieldConnectEVDHandle)
	a, b := p.attr, &param.Attr
	assign(&a.ServiceType, b.ServiceType, mask&EPFieldServiceType)
	assign(&a.MaxMessageSize, b.MaxMessageSize, mask&EPFieldMaxMessageSize)
	assign(&a.MaxRDMASize, b.MaxRDMASize, mask&EPFieldMaxRDMASize)
	assign(&a.QOS, b.QOS, mask&EPFieldQOS)
	assign(&a.RecvCompletionFlags, b.RecvCompletionFlags, mask&EPFieldRecvCompletionFlags)
	assign(&a.RequestCompletionFlags, b.RequestCompletionFlags, mask&EPFieldRequestCompletionFlags)
	assign(&a.MaxRecvDTOs, b.MaxRecvDTOs, mask&EPFieldMaxRecvDTOs)
	assign(&a.MaxRequestDTOs, b.MaxRequestDTOs, mask&EPFieldMaxRequestDTOs)
	assign(&a.MaxRecvIOV, b.MaxRecvIOV, mask&EPFieldMaxRecvIOV)
	assign(&a.MaxRequestIOV, b.MaxRequestIOV, mask&EPFieldMaxRequestIOV)
	assign(&a.MaxRDMAReadIn, b.MaxRDMAReadIn, mask&EPFieldMaxRDMAReadIn)
	assign(&a.MaxRDMAReadOut, b.MaxRDMAReadOut, mask&EPFieldMaxRDMAReadOut)
	assign(&a.MaxRDMAReadIOV, b.MaxRDMAReadIOV, mask&EPFieldMaxRDMAReadIOV)
	assign(&a.MaxRDMAWriteIOV, b.MaxRDMAWriteIOV, mask&EPFieldMaxRDMAWriteIOV)

	if posted := int(ep.recv.outstanding()); posted > a.MaxRecvDTOs {
		return p, refuse(op, ErrInvalidParameter, InvalidArg3, "MaxRecvDTOs is %d, but %d receives are posted", a.MaxRecvDTOs, posted)
	}
	if longest := ep.longestEarlyReceive(); longest > a.MaxRecvIOV {
		return p, refuse(op, ErrInvalidParameter, InvalidArg3, "MaxRecvIOV is %d, but a receive with %d segments is posted", a.MaxRecvIOV, longest)
	}
	return p, nil
}

func (ep *EP) longestEarlyReceive() (segments int) {
	ep.recv.mu.Lock()
	defer ep.recv.mu.Unlock()
	for _, e := range ep.early.list {
		segments = max(segments, len(e.iov))
	}
	return segments
}

func assign[T any](to *T, value T, wanted EPParamMask) {
	if wanted != 0 {
		*to = value
	}
}
