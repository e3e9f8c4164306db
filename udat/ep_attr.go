package udat

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/goudat/goudat/cgo"
)

// EPAttr holds the attributes of an endpoint. A zero field stands for the
// provider's default: see IA.DefaultEPAttr. A program that posts many receives
// needs no more than &EPAttr{MaxRecvDTOs: 64}. EP.Query returns the actual values.
//
// All streams of completions that come to the same EVD must have the same
// completion flags; CompletionDefault stands for CompletionEVDThreshold. On an
// EVD that takes other events too, the flags must be CompletionEVDThreshold.
// The provider may ignore flags that suppress wake-ups.
type EPAttr struct {
	ServiceType            ServiceType     // ServiceTypeRC
	MaxMessageSize         uint32          // bytes of a send or a receive, at most IAAttr.MaxMessageSize; posts are held to that alone
	MaxRDMASize            uint32          // bytes of an RDMA read or write, likewise at most IAAttr.MaxRDMASize
	QOS                    QOS             // QOSBestEffort
	RecvCompletionFlags    CompletionFlags // CompletionEVDThreshold, CompletionSolicitedWait or CompletionUnsignalled
	RequestCompletionFlags CompletionFlags // CompletionEVDThreshold or CompletionUnsignalled
	MaxRecvDTOs            int             // receives outstanding, at most IAAttr.MaxDTOPerEP; 0 without a receive EVD
	MaxRequestDTOs         int             // requests outstanding, at most IAAttr.MaxDTOPerEP; 0 without a request EVD
	MaxRecvIOV             int             // segments of a receive, at most IAAttr.MaxIOVSegmentsPerDTO
	MaxRequestIOV          int             // segments of a request, at most IAAttr.MaxIOVSegmentsPerDTO
	MaxRDMAReadIn          int             // RDMA reads of the peer in progress, at most IAAttr.MaxRDMAReadPerEPIn
	MaxRDMAReadOut         int             // RDMA reads in progress, at most IAAttr.MaxRDMAReadPerEPOut
	NoRDMAReadIn           bool            // the peer can read nothing, whatever MaxRDMAReadIn is
	NoRDMAReadOut          bool            // no RDMA read can be posted, whatever MaxRDMAReadOut is
	MaxRDMAReadIOV         int
	MaxRDMAWriteIOV        int
}

func (a *EPAttr) native() *cgo.EPAttr {
	return &cgo.EPAttr{
		ServiceType:            cgo.ServiceType(a.ServiceType),
		MaxMessageSize:         a.MaxMessageSize,
		MaxRDMASize:            a.MaxRDMASize,
		QOS:                    cgo.QOS(a.QOS),
		RecvCompletionFlags:    cgo.CompletionFlags(a.RecvCompletionFlags),
		RequestCompletionFlags: cgo.CompletionFlags(a.RequestCompletionFlags),
		MaxRecvDTOs:            int32(a.MaxRecvDTOs),
		MaxRequestDTOs:         int32(a.MaxRequestDTOs),
		MaxRecvIOV:             int32(a.MaxRecvIOV),
		MaxRequestIOV:          int32(a.MaxRequestIOV),
		MaxRDMAReadIn:          int32(a.MaxRDMAReadIn),
		MaxRDMAReadOut:         int32(a.MaxRDMAReadOut),
		MaxRDMAReadIOV:         int32(a.MaxRDMAReadIOV),
		MaxRDMAWriteIOV:        int32(a.MaxRDMAWriteIOV),
	}
}

// The defaults of the native library, whatever the provider. It bounds them by
// what the adapter has.
const (
	defaultDTOs      = 16
	defaultIOV       = 4
	defaultRDMAReads = 4
	defaultSize      = 1 << 31
)

// DefaultEPAttr returns the attributes that endpoints of the adapter have by
// default, for which a zero field of EPAttr and a nil *EPAttr stand. The zero
// value, which it returns for a nil adapter, stands for them all.
func (ia *IA) DefaultEPAttr() EPAttr {
	if ia == nil {
		return EPAttr{}
	}
	most := &ia.attr
	return EPAttr{
		ServiceType:            ServiceTypeRC,
		MaxMessageSize:         min(defaultSize, most.MaxMessageSize),
		MaxRDMASize:            min(defaultSize, most.MaxRDMASize),
		QOS:                    QOSBestEffort,
		RecvCompletionFlags:    CompletionEVDThreshold,
		RequestCompletionFlags: CompletionEVDThreshold,
		MaxRecvDTOs:            min(defaultDTOs, most.MaxDTOPerEP),
		MaxRequestDTOs:         min(defaultDTOs, most.MaxDTOPerEP),
		MaxRecvIOV:             min(defaultIOV, most.MaxIOVSegmentsPerDTO),
		MaxRequestIOV:          min(defaultIOV, most.MaxIOVSegmentsPerDTO),
		MaxRDMAReadIn:          min(defaultRDMAReads, most.MaxRDMAReadPerEPIn),
		MaxRDMAReadOut:         min(defaultRDMAReads, most.MaxRDMAReadPerEPOut),
	}
}

// setDefaults completes the attributes. A direction without an event dispatcher
// has no operations.
func (p *epParts) setDefaults(ia *IA) {
	defaults := ia.DefaultEPAttr()
	if p.recv == nil {
		defaults.MaxRecvDTOs = 0
	}
	if p.request == nil {
		defaults.MaxRequestDTOs, defaults.MaxRequestIOV = 0, 0
	}
	attr, values := reflect.ValueOf(&p.attr).Elem(), reflect.ValueOf(defaults)
	for i := range attr.NumField() {
		if attr.Field(i).IsZero() {
			attr.Field(i).Set(values.Field(i))
		}
	}
	if p.attr.NoRDMAReadIn {
		p.attr.MaxRDMAReadIn = 0
	}
	if p.attr.NoRDMAReadOut {
		p.attr.MaxRDMAReadOut = 0
	}
}

// checkAttr refuses what the library would accept and break on.
func (p *epParts) checkAttr(op string, most *IAAttr) error {
	a := &p.attr
	for _, stream := range []struct {
		name    string
		evd     *EVD
		is      CompletionFlags
		allowed []CompletionFlags
	}{
		{"RecvCompletionFlags", p.recv, a.RecvCompletionFlags, []CompletionFlags{CompletionDefault, CompletionEVDThreshold, CompletionSolicitedWait, CompletionUnsignalled}},
		{"RequestCompletionFlags", p.request, a.RequestCompletionFlags, []CompletionFlags{CompletionDefault, CompletionEVDThreshold, CompletionUnsignalled}},
	} {
		switch {
		case !slices.Contains(stream.allowed, stream.is):
			return refuse(op, ErrInvalidParameter, InvalidArg6, "%s is %v, it must be one of %v: leave CompletionDefault", stream.name, stream.is, stream.allowed)
		case stream.evd != nil && stream.evd.flags&^(EVDDTO|EVDRMRBind) != 0 && stream.is != CompletionDefault && stream.is != CompletionEVDThreshold:
			return refuse(op, ErrInvalidParameter, InvalidArg6, "%s is %v, it must be CompletionEVDThreshold with an event dispatcher that takes other events too: leave CompletionDefault, or use one of EVDDTO alone", stream.name, stream.is)
		}
	}
	switch {
	case a.ServiceType != ServiceTypeRC:
		return refuseUnsupported(op, InvalidArg3, fmt.Sprintf("the service type is %v, only %v is supported: leave it 0", a.ServiceType, ServiceTypeRC))
	case a.QOS != QOSBestEffort:
		return refuseUnsupported(op, InvalidArg3, fmt.Sprintf("the quality of service is %v, only %v is supported: leave it 0", a.QOS, QOSBestEffort))
	case p.recv == nil && a.MaxRecvDTOs != 0:
		return refuse(op, ErrInvalidParameter, InvalidArg6, "MaxRecvDTOs is %d, but the endpoint has no receive event dispatcher: leave it 0", a.MaxRecvDTOs)
	case p.request == nil && (a.MaxRequestDTOs != 0 || a.MaxRequestIOV != 0):
		return refuse(op, ErrInvalidParameter, InvalidArg6, "MaxRequestDTOs is %d and MaxRequestIOV %d, but the endpoint has no request event dispatcher: leave both 0", a.MaxRequestDTOs, a.MaxRequestIOV)
	}
	for _, f := range []struct {
		name        string
		value, most int
	}{
		{"MaxMessageSize", int(a.MaxMessageSize), int(most.MaxMessageSize)},
		{"MaxRDMASize", int(a.MaxRDMASize), int(most.MaxRDMASize)},
		{"MaxRecvDTOs", a.MaxRecvDTOs, most.MaxDTOPerEP},
		{"MaxRequestDTOs", a.MaxRequestDTOs, most.MaxDTOPerEP},
		{"MaxRecvIOV", a.MaxRecvIOV, most.MaxIOVSegmentsPerDTO},
		{"MaxRequestIOV", a.MaxRequestIOV, most.MaxIOVSegmentsPerDTO},
		{"MaxRDMAReadIn", a.MaxRDMAReadIn, most.MaxRDMAReadPerEPIn},
		{"MaxRDMAReadOut", a.MaxRDMAReadOut, most.MaxRDMAReadPerEPOut},
		{"MaxRDMAReadIOV", a.MaxRDMAReadIOV, most.MaxIOVSegmentsPerRead},
		{"MaxRDMAWriteIOV", a.MaxRDMAWriteIOV, most.MaxIOVSegmentsPerWrite},
	} {
		if f.value < 0 || f.value > f.most {
			return refuse(op, ErrInvalidParameter, InvalidArg6, "%s is %d, it must be 1 to %d, the limit of %s, or 0 for the default", f.name, f.value, f.most, most.AdapterName)
		}
	}
	return nil
}

const modifyOp = "dat_ep_modify"

// refuseUnsupported makes the error for what no provider supports, which
// dat_ep_modify, unlike dat_ep_create, counts among the invalid parameters.
func refuseUnsupported(op string, arg ReturnSubtype, detail string) error {
	if op != modifyOp {
		return refuse(op, ErrModelNotSupported, NoSubtype, "%s", detail)
	}
	return logged(&Error{
		Op:     op,
		Return: classError | Return(ErrInvalidParameter) | Return(arg),
		Detail: detail,
		Err:    errors.ErrUnsupported,
	})
}
