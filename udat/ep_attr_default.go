package udat

import "math"

// NoRDMAReads in EPAttr.MaxRDMAReadIn or MaxRDMAReadOut says that there are none
// in that direction, since 0 asks for the default. No arithmetic leads to it.
const NoRDMAReads = math.MinInt32

// readsOf returns the number that MaxRDMAReadIn or MaxRDMAReadOut means.
func readsOf(n int) int {
	if n == NoRDMAReads {
		return 0
	}
	return n
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
	if p.attr == nil {
		p.attr = &EPAttr{}
	}
	a, defaults := p.attr, ia.DefaultEPAttr()
	setDefault(&a.ServiceType, defaults.ServiceType)
	setDefault(&a.MaxMessageSize, defaults.MaxMessageSize)
	setDefault(&a.MaxRDMASize, defaults.MaxRDMASize)
	setDefault(&a.QOS, defaults.QOS)
	setDefault(&a.RecvCompletionFlags, defaults.RecvCompletionFlags)
	setDefault(&a.RequestCompletionFlags, defaults.RequestCompletionFlags)
	if p.recv != nil {
		setDefault(&a.MaxRecvDTOs, defaults.MaxRecvDTOs)
	}
	setDefault(&a.MaxRecvIOV, defaults.MaxRecvIOV)
	if p.request != nil {
		setDefault(&a.MaxRequestDTOs, defaults.MaxRequestDTOs)
		setDefault(&a.MaxRequestIOV, defaults.MaxRequestIOV)
	}
	setDefault(&a.MaxRDMAReadIn, defaults.MaxRDMAReadIn)
	setDefault(&a.MaxRDMAReadOut, defaults.MaxRDMAReadOut)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
