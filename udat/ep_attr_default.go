package udat

import (
	"math"
	"reflect"
)

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
}
