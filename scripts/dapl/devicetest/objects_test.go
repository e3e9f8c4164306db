package devicetest

import (
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// What these make, the caller frees, or the abrupt close of its adapter.

// openAgain opens the adapter once more.
func (a *adapter) openAgain(t testing.TB) *adapter {
	t.Helper()
	again := &adapter{name: a.name, address: a.address, device: a.device, iwarp: a.iwarp}
	var r cgo.Return
	again.IAHandle, again.async, r = cgo.IAOpen(a.name, 64)
	success(t, "IAOpen", r)
	return again
}

func (a *adapter) createPZ(t testing.TB) cgo.PZHandle {
	t.Helper()
	pz, r := cgo.PZCreate(a.IAHandle)
	success(t, "PZCreate", r)
	return pz
}

func (a *adapter) createSRQ(t testing.TB, pz cgo.PZHandle, length int32) cgo.SRQHandle {
	t.Helper()
	srq, r := cgo.SRQCreate(a.IAHandle, pz, &cgo.SRQAttr{MaxRecvDTOs: length, MaxRecvIOV: 2})
	success(t, "SRQCreate", r)
	return srq
}

// createEP makes an endpoint that takes its receives from a shared queue, if there is one.
func (a *adapter) createEP(t testing.TB, pz cgo.PZHandle, recv, request, connect cgo.EVDHandle, srq cgo.SRQHandle) (ep cgo.EPHandle) {
	t.Helper()
	var r cgo.Return
	if srq == 0 {
		ep, r = cgo.EPCreate(a.IAHandle, pz, recv, request, connect, endpointAttr())
	} else {
		ep, r = cgo.EPCreateWithSRQ(a.IAHandle, pz, recv, request, connect, srq, endpointAttr())
	}
	success(t, "creating an endpoint", r)
	return ep
}

func (a *adapter) createPSP(t testing.TB, requests cgo.EVDHandle) (psp cgo.PSPHandle, qual uint64) {
	t.Helper()
	psp, qual, r := cgo.PSPCreateAny(a.IAHandle, requests, cgo.PSPConsumer)
	success(t, "PSPCreateAny", r)
	return psp, qual
}

// awaitEvent waits for an event of an EVD that has no CNO, and takes it.
func awaitEvent(t testing.TB, evd cgo.EVDHandle) (event cgo.Event) {
	t.Helper()
	_, r := cgo.EVDWait(evd, uint32(udattest.Patience/time.Microsecond), 1, &event)
	success(t, "EVDWait", r)
	return event
}

// bareAttr are those of an endpoint that posts nothing, and needs no EVDs.
func bareAttr() *cgo.EPAttr {
	attr := endpointAttr()
	attr.MaxRecvDTOs, attr.MaxRecvIOV, attr.MaxRequestDTOs, attr.MaxRequestIOV = 0, 0, 0, 0
	return attr
}
