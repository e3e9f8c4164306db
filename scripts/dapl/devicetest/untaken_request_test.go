package devicetest

import (
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// Freeing a service point rejects the requests that nobody has taken, and no event names it any more. Those of another
// one on the same queue stay.
func TestFreeRejectsUntakenRequests(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		requests := a.newQueue(t, cgo.EVDCR)
		freed, freedQual, r := cgo.PSPCreateAny(a.IAHandle, requests.EVDHandle, cgo.PSPConsumer)
		success(t, "PSPCreateAny", r)
		stays, staysQual, r := cgo.PSPCreateAny(a.IAHandle, requests.EVDHandle, cgo.PSPConsumer)
		success(t, "PSPCreateAny", r)
		t.Cleanup(func() { success(t, "PSPFree", cgo.PSPFree(stays)) })

		var rejected []*endpoint
		for range 3 {
			e := a.newEndpoint(t)
			a.request(t, e, freedQual)
			requests.awaitTriggered(t)
			rejected = append(rejected, e)
		}
		accepted, passive := a.newEndpoint(t), a.newEndpoint(t)
		a.request(t, accepted, staysQual)
		requests.awaitTriggered(t)
		success(t, "PSPFree", cgo.PSPFree(freed))
		for _, e := range rejected {
			e.connect.expect(t, cgo.EventConnectionPeerRejected)
		}
		event := requests.expect(t, cgo.EventConnectionRequest)
		if data := event.CRArrival(); data.SPHandle != uintptr(stays) {
			t.Fatalf("the request is of the service point %#x, want %#x", data.SPHandle, stays)
		}
		success(t, "CRAccept", cgo.CRAccept(event.CRArrival().CRHandle, passive.EPHandle, nil))
		accepted.connect.expect(t, cgo.EventConnectionEstablished)
		passive.connect.expect(t, cgo.EventConnectionEstablished)
		requests.empty(t)
		disconnect(t, accepted, passive)
	})
}

// Freeing a reserved service point, too: its endpoint is free again.
func TestFreeRejectsUntakenReservedRequest(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, reserved := a.newEndpoint(t), a.newEndpoint(t)
		rsp, l := a.reserve(t, reserved)
		a.request(t, active, l.qual)
		l.requests.awaitTriggered(t)
		reserved.wantState(t, cgo.EPStatePassiveConnectionPending)
		success(t, "RSPFree", cgo.RSPFree(rsp))
		active.connect.expect(t, cgo.EventConnectionPeerRejected)
		l.requests.empty(t)
		reserved.wantState(t, cgo.EPStateUnconnected)
		success(t, "EPReset", cgo.EPReset(active.EPHandle))
		a.connect(t, a.listen(t), active, reserved, nil)
		disconnect(t, active, reserved)
	})
}

// request has an endpoint ask for a connection.
func (a *adapter) request(t *testing.T, e *endpoint, qual uint64) {
	t.Helper()
	success(t, "EPConnect", cgo.EPConnect(e.EPHandle, a.address, qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault))
}

// awaitTriggered waits for an event, and leaves it in the queue.
func (q queue) awaitTriggered(t *testing.T) {
	t.Helper()
	_, r := cgo.CNOWait(q.cno, uint32(udattest.Patience/time.Microsecond))
	success(t, "CNOWait", r)
}
