package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// What needs more memory than there can be is refused, and nothing is written beyond it.
func TestLengthsBeyondMemory(t *testing.T) {
	for _, name := range udattest.Names(t) {
		for _, length := range []int32{1 << 30, 1<<30 + 1, 1<<31 - 1} {
			_, _, r := cgo.IAOpen(name, length)
			outcome(t, "IAOpen", r, cgo.InsufficientResources, cgo.ResourceMemory)
		}
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		e := a.newEndpoint(t)
		for _, length := range []int32{-1 << 31, -1, 0, 1 << 30, 1<<31 - 1} {
			_, r := cgo.SRQCreate(a.IAHandle, e.pz, &cgo.SRQAttr{MaxRecvDTOs: length, MaxRecvIOV: 1})
			outcome(t, "SRQCreate", r, cgo.InvalidParameter, cgo.InvalidArg3)
		}
		_, r := cgo.SRQCreate(a.IAHandle, e.pz, &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: -1})
		outcome(t, "SRQCreate", r, cgo.InvalidParameter, cgo.InvalidArg3)
		for _, length := range []int32{-1 << 31, -1, 1 << 30, 1<<31 - 1} {
			for _, attr := range []cgo.EPAttr{{MaxRecvDTOs: length, MaxRequestDTOs: 1}, {MaxRecvDTOs: 1, MaxRequestDTOs: length}} {
				attr.ServiceType, attr.MaxRecvIOV, attr.MaxRequestIOV = cgo.ServiceTypeRC, 1, 1
				_, r := cgo.EPCreate(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, &attr)
				outcome(t, "EPCreate", r, cgo.InvalidParameter, cgo.InvalidArg6)
			}
		}
	})
}

// The adapter says what the device has, and fills all attributes of its provider.
func TestSharedQueueAttributes(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		var attr cgo.IAAttr
		provider := cgo.ProviderAttr{EPRecvInfoSupported: 1, SRQSupported: 7}
		_, r := cgo.IAQuery(a.IAHandle, cgo.IAFieldAll, &attr, cgo.ProviderFieldAll, &provider)
		success(t, "IAQuery", r)
		if attr.MaxSRQs < 1 || attr.MaxEPPerSRQ != attr.MaxEPs || attr.MaxRecvPerSRQ < 1 || provider.SRQSupported != 1 || provider.EPRecvInfoSupported != 0 {
			t.Errorf("the attributes are %+v and %+v", attr, provider)
		}
		srq, r := cgo.SRQCreate(a.IAHandle, a.newPZ(t), &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 1})
		success(t, "SRQCreate", r)
		outcome(t, "SRQResize", cgo.SRQResize(srq, attr.MaxRecvPerSRQ+1), cgo.InvalidParameter, cgo.InvalidArg2)
		success(t, "SRQFree", cgo.SRQFree(srq))
	})
}
