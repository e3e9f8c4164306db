package udat

import "github.com/goudat/goudat/cgo"

// NativeDefaults returns the attributes of an endpoint that the library makes of the parts
// of ep, without attributes.
func NativeDefaults(ep *EP) (EPAttr, error) {
	const op = "dat_ep_create"
	p := ep.parts
	handle, r := cgo.EPCreate(ep.ia.handle, p.pz.handle, p.recv.nativeHandle(), p.request.nativeHandle(), 0, nil)
	if err := check(op, r); err != nil {
		return EPAttr{}, err
	}
	defer cgo.EPFree(handle)
	var param cgo.EPParam
	if err := check(op, cgo.EPQuery(handle, cgo.EPFieldAll, &param)); err != nil {
		return EPAttr{}, err
	}
	a := &param.EPAttr
	return EPAttr{
		ServiceType:            ServiceType(a.ServiceType),
		MaxMessageSize:         a.MaxMessageSize,
		MaxRDMASize:            a.MaxRDMASize,
		QOS:                    QOS(a.QOS),
		RecvCompletionFlags:    CompletionFlags(a.RecvCompletionFlags),
		RequestCompletionFlags: CompletionFlags(a.RequestCompletionFlags),
		MaxRecvDTOs:            int(a.MaxRecvDTOs),
		MaxRequestDTOs:         int(a.MaxRequestDTOs),
		MaxRecvIOV:             int(a.MaxRecvIOV),
		MaxRequestIOV:          int(a.MaxRequestIOV),
		MaxRDMAReadIn:          int(a.MaxRDMAReadIn),
		MaxRDMAReadOut:         int(a.MaxRDMAReadOut),
		SRQSoftHW:              int(a.SRQSoftHW),
		MaxRDMAReadIOV:         int(a.MaxRDMAReadIOV),
		MaxRDMAWriteIOV:        int(a.MaxRDMAWriteIOV),
	}, nil
}
