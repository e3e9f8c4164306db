package udat

import (
	"cmp"
	"slices"

	"github.com/goudat/goudat/cgo"
)

// EPAttr holds the attributes of an endpoint. A zero field means the provider's default, see
// IA.DefaultEPAttr: a program that posts many receives needs only &EPAttr{MaxRecvDTOs: 64}.
// EP.Query returns the actual values. Posts are checked against IAAttr.MaxMessageSize only.
//
// All completions on one EVD must have the same completion flags; CompletionDefault means
// CompletionEVDThreshold, and an EVD of other streams, too, allows no others. The provider may
// ignore flags that suppress wake-ups.
type EPAttr struct {
	MaxMessageSize                  uint32          // bytes of a send or a receive, at most IAAttr.MaxMessageSize
	MaxRDMASize                     uint32          // bytes of an RDMA read or write, at most IAAttr.MaxRDMASize
	RecvCompletionFlags             CompletionFlags // CompletionEVDThreshold, CompletionSolicitedWait or CompletionUnsignalled
	RequestCompletionFlags          CompletionFlags // CompletionEVDThreshold or CompletionUnsignalled
	MaxRecvDTOs, MaxRequestDTOs     int             // outstanding, at most IAAttr.MaxDTOPerEP; 0 without an EVD for them
	MaxRecvIOV, MaxRequestIOV       int             // segments of one, at most IAAttr.MaxIOVSegmentsPerDTO
	MaxRDMAReadIn                   int             // RDMA reads of the peer in progress, at most IAAttr.MaxRDMAReadPerEPIn
	MaxRDMAReadOut                  int             // RDMA reads in progress, at most IAAttr.MaxRDMAReadPerEPOut
	NoRDMAReadIn, NoRDMAReadOut     bool            // no RDMA reads, whatever that limit is
	MaxRDMAReadIOV, MaxRDMAWriteIOV int             // segments, at most IAAttr.MaxIOVSegmentsPerRead and PerWrite
}

// newEPAttr returns what the library has.
func newEPAttr(a *cgo.EPAttr) EPAttr {
	return EPAttr{
		MaxMessageSize:         a.MaxMessageSize,
		MaxRDMASize:            a.MaxRDMASize,
		RecvCompletionFlags:    CompletionFlags(a.RecvCompletionFlags),
		RequestCompletionFlags: CompletionFlags(a.RequestCompletionFlags),
		MaxRecvDTOs:            int(a.MaxRecvDTOs),
		MaxRequestDTOs:         int(a.MaxRequestDTOs),
		MaxRecvIOV:             int(a.MaxRecvIOV),
		MaxRequestIOV:          int(a.MaxRequestIOV),
		MaxRDMAReadIn:          int(a.MaxRDMAReadIn),
		MaxRDMAReadOut:         int(a.MaxRDMAReadOut),
		NoRDMAReadIn:           a.MaxRDMAReadIn == 0,
		NoRDMAReadOut:          a.MaxRDMAReadOut == 0,
		MaxRDMAReadIOV:         int(a.MaxRDMAReadIOV),
		MaxRDMAWriteIOV:        int(a.MaxRDMAWriteIOV),
	}
}

// native returns the attributes for the library, completed with the defaults d. A direction without
// an event dispatcher has no operations.
func (p *epParts) native(d cgo.EPAttr) *cgo.EPAttr {
	a := &p.attr
	if p.recv == nil {
		d.MaxRecvDTOs = 0
	}
	if p.request == nil {
		d.MaxRequestDTOs, d.MaxRequestIOV = 0, 0
	}
	d.MaxMessageSize = cmp.Or(a.MaxMessageSize, d.MaxMessageSize)
	d.MaxRDMASize = cmp.Or(a.MaxRDMASize, d.MaxRDMASize)
	d.RecvCompletionFlags = cmp.Or(cgo.CompletionFlags(a.RecvCompletionFlags), d.RecvCompletionFlags)
	d.RequestCompletionFlags = cmp.Or(cgo.CompletionFlags(a.RequestCompletionFlags), d.RequestCompletionFlags)
	d.MaxRecvDTOs = cmp.Or(int32(a.MaxRecvDTOs), d.MaxRecvDTOs)
	d.MaxRequestDTOs = cmp.Or(int32(a.MaxRequestDTOs), d.MaxRequestDTOs)
	d.MaxRecvIOV = cmp.Or(int32(a.MaxRecvIOV), d.MaxRecvIOV)
	d.MaxRequestIOV = cmp.Or(int32(a.MaxRequestIOV), d.MaxRequestIOV)
	d.MaxRDMAReadIn = cmp.Or(int32(a.MaxRDMAReadIn), d.MaxRDMAReadIn)
	d.MaxRDMAReadOut = cmp.Or(int32(a.MaxRDMAReadOut), d.MaxRDMAReadOut)
	d.MaxRDMAReadIOV = cmp.Or(int32(a.MaxRDMAReadIOV), d.MaxRDMAReadIOV)
	d.MaxRDMAWriteIOV = cmp.Or(int32(a.MaxRDMAWriteIOV), d.MaxRDMAWriteIOV)
	if a.NoRDMAReadIn {
		d.MaxRDMAReadIn = 0
	}
	if a.NoRDMAReadOut {
		d.MaxRDMAReadOut = 0
	}
	return &d
}

// DefaultEPAttr returns what a zero field of EPAttr, or a nil *EPAttr, means on this adapter. It
// returns the zero value if the adapter is nil or closed.
func (ia *IA) DefaultEPAttr() EPAttr {
	if ia == nil || !ia.obj.Enter() {
		return EPAttr{}
	}
	defer ia.obj.Leave()
	defaults, _ := ia.defaultAttr()
	return newEPAttr(&defaults)
}

// defaultAttr asks the library, the first time. For that it makes an endpoint without a queue pair,
// and an EVD, for it to have operations. The caller has entered the adapter.
func (ia *IA) defaultAttr() (cgo.EPAttr, cgo.Return) {
	if known := ia.epDefaults.Load(); known != nil {
		return *known, cgo.Success.Return()
	}
	evd, r := cgo.EVDCreate(ia.handle, 1, ia.notifier.CNO(), cgo.EVDDTO)
	if !r.OK() {
		return cgo.EPAttr{}, r
	}
	defer cgo.EVDFree(evd)
	ep, r := cgo.EPCreate(ia.handle, 0, evd, evd, 0, nil)
	if !r.OK() {
		return cgo.EPAttr{}, r
	}
	defer cgo.EPFree(ep)
	var param cgo.EPParam
	if r = cgo.EPQuery(ep, cgo.EPFieldAll, &param); r.OK() {
		ia.epDefaults.Store(&param.EPAttr)
	}
	return param.EPAttr, r
}

// checkAttr refuses what the library would accept and break on, of the attributes that mask names.
func (p *epParts) checkAttr(op string, most *IAAttr, mask EPParamMask) error {
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
	case p.recv == nil && mask&EPFieldMaxRecvDTOs != 0 && a.MaxRecvDTOs != 0:
		return refuse(op, ErrInvalidParameter, InvalidArg6, "MaxRecvDTOs is %d, but the endpoint has no receive event dispatcher: leave it 0", a.MaxRecvDTOs)
	case p.request == nil && (mask&EPFieldMaxRequestDTOs != 0 && a.MaxRequestDTOs != 0 || mask&EPFieldMaxRequestIOV != 0 && a.MaxRequestIOV != 0):
		return refuse(op, ErrInvalidParameter, InvalidArg6, "MaxRequestDTOs is %d and MaxRequestIOV %d, but the endpoint has no request event dispatcher: leave both 0", a.MaxRequestDTOs, a.MaxRequestIOV)
	}
	for _, f := range []struct {
		name        string
		field       EPParamMask
		value, most int
	}{
		{"MaxMessageSize", EPFieldMaxMessageSize, int(a.MaxMessageSize), int(most.MaxMessageSize)},
		{"MaxRDMASize", EPFieldMaxRDMASize, int(a.MaxRDMASize), int(most.MaxRDMASize)},
		{"MaxRecvDTOs", EPFieldMaxRecvDTOs, a.MaxRecvDTOs, most.MaxDTOPerEP},
		{"MaxRequestDTOs", EPFieldMaxRequestDTOs, a.MaxRequestDTOs, most.MaxDTOPerEP},
		{"MaxRecvIOV", EPFieldMaxRecvIOV, a.MaxRecvIOV, most.MaxIOVSegmentsPerDTO},
		{"MaxRequestIOV", EPFieldMaxRequestIOV, a.MaxRequestIOV, most.MaxIOVSegmentsPerDTO},
		{"MaxRDMAReadIn", EPFieldMaxRDMAReadIn, a.MaxRDMAReadIn, most.MaxRDMAReadPerEPIn},
		{"MaxRDMAReadOut", EPFieldMaxRDMAReadOut, a.MaxRDMAReadOut, most.MaxRDMAReadPerEPOut},
		{"MaxRDMAReadIOV", EPFieldMaxRDMAReadIOV, a.MaxRDMAReadIOV, most.MaxIOVSegmentsPerRead},
		{"MaxRDMAWriteIOV", EPFieldMaxRDMAWriteIOV, a.MaxRDMAWriteIOV, most.MaxIOVSegmentsPerWrite},
	} {
		if mask&f.field != 0 && (f.value < 0 || f.value > f.most) {
			return refuse(op, ErrInvalidParameter, InvalidArg6, "%s is %d, it must be 1 to %d, the limit of %s, or 0 for the default", f.name, f.value, f.most, most.AdapterName)
		}
	}
	return nil
}
