package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// smallPair returns a connected pair whose passive end has a short receive EVD without a CNO.
func (a *adapter) smallPair(t *testing.T) (active, passive *endpoint) {
	t.Helper()
	evd, r := cgo.EVDCreate(a.IAHandle, 8, 0, cgo.EVDDTO)
	success(t, "EVDCreate", r)
	t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(evd)) })
	active = a.newEndpoint(t)
	passive = a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
		e.recv.EVDHandle = evd
		attr := endpointAttr()
		attr.MaxRecvDTOs = 200
		return cgo.EPCreate(a.IAHandle, e.pz, evd, e.request.EVDHandle, e.connect.EVDHandle, attr)
	})
	a.connect(t, a.listen(t), active, passive, nil)
	return active, passive
}

// receive has the passive end receive messages with cookies from first on.
func receive(t *testing.T, active, passive *endpoint, first, n uint64) {
	t.Helper()
	for cookie := first; cookie < first+n; cookie++ {
		passive.postRecv(t, cookie)
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 8)}, cookie, cgo.CompletionDefault))
		active.request.completion(t, cgo.EventDTOCompletion, cookie)
	}
}

// Completions for which an EVD has no room yet are not lost.
func TestFullQueueKeepsCompletions(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.smallPair(t)
		evd, length := passive.recv.EVDHandle, passive.recv.length(t)
		receive(t, active, passive, 0, uint64(length))
		waitFull(t, evd, length, 0)
		receive(t, active, passive, uint64(length), uint64(length))
		waitFull(t, evd, length, 1)
		for cookie := uint64(2); cookie < 2*uint64(length)-1; cookie++ {
			dequeueCookie(t, evd, cookie)
		}
		waitFull(t, evd, 1, 2*uint64(length)-1) // iWARP may complete it after the send
		passive.recv.empty(t)
	})
}

// The receives that the end of a connection flushes are not lost, either, and nothing refers to the endpoint then.
func TestFullQueueKeepsFlushed(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.smallPair(t)
		evd, length := passive.recv.EVDHandle, passive.recv.length(t)
		receive(t, active, passive, 0, uint64(length))
		waitFull(t, evd, length, 0)
		const posted = 5
		for cookie := uint64(100); cookie < 100+posted; cookie++ {
			passive.postRecv(t, cookie)
		}
		disconnect(t, passive, active)
		for cookie := uint64(1); cookie < uint64(length); cookie++ {
			dequeueCookie(t, evd, cookie)
		}
		for cookie := uint64(100); cookie < 100+posted; cookie++ {
			if event := dequeueCookie(t, evd, cookie); event.DTO().Status != cgo.DTOErrFlushed {
				t.Errorf("receive %d completed with %v", cookie, event.DTO().Status)
			}
		}
		passive.recv.empty(t)
	})
}

// An endpoint leaves no events behind, and those of others that share its EVDs stay.
func TestFreedEndpointLeavesNoEvents(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, kept := a.listen(t), a.newEndpoint(t)
		freed := *kept
		var r cgo.Return
		freed.EPHandle, r = cgo.EPCreate(a.IAHandle, kept.pz, kept.recv.EVDHandle, kept.request.EVDHandle, kept.connect.EVDHandle, endpointAttr())
		success(t, "EPCreate", r)
		ends, peers := []*endpoint{&freed, kept}, []*endpoint{a.newEndpoint(t), a.newEndpoint(t)}
		for i, e := range ends {
			a.startConnect(t, l, peers[i], cgo.TimeoutInfinite)
			success(t, "CRAccept", cgo.CRAccept(l.request(t), e.EPHandle, nil))
			peers[i].connect.expect(t, cgo.EventConnectionEstablished)
			kept.connect.expect(t, cgo.EventConnectionEstablished)
		}
		for i, e := range ends {
			peers[i].postRecv(t, 1)
			success(t, "EPPostSend", cgo.EPPostSend(e.EPHandle, []cgo.LMRTriplet{kept.memory.local(0, 8)}, uint64(10+i), cgo.CompletionDefault))
			peers[i].recv.completion(t, cgo.EventDTOCompletion, 1)
			e.postRecv(t, uint64(20+i))
			success(t, "EPDisconnect", cgo.EPDisconnect(e.EPHandle, cgo.CloseAbrupt)) // flushes the receive
			peers[i].connect.expect(t, cgo.EventConnectionDisconnected)
		}
		success(t, "EPFree", cgo.EPFree(freed.EPHandle))
		if event := kept.connect.expect(t, cgo.EventConnectionDisconnected); event.Connection().EPHandle != kept.EPHandle {
			t.Errorf("there is an event of the endpoint %#x, which was freed", event.Connection().EPHandle)
		}
		kept.request.completion(t, cgo.EventDTOCompletion, 11)
		kept.recv.expectFlushed(t, 21)
		for _, q := range []queue{kept.connect, kept.request, kept.recv} {
			q.empty(t)
		}
	})
}

// That an EVD is full is reported once until there is room again, and names it: otherwise a peer's requests could fill
// the queue of the reports, which is dead then.
func TestFullQueueIsReportedOnce(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q, async := a.newQueue(t, cgo.EVDSoftware), queue{EVDHandle: a.async}
		for range 3 {
			for i := range uint64(queueLength) {
				success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, i))
			}
			for range 100 {
				outcome(t, "EVDPostSE to a full queue", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, 1), cgo.QueueFull, cgo.NoSubtype)
			}
			event := async.expect(t, cgo.EventAsyncErrorEVDOverflow)
			if of := event.AsyncError().Handle; of != uintptr(q.EVDHandle) {
				t.Errorf("the queue %#x is full, want %#x", of, q.EVDHandle)
			}
			async.empty(t)
			q.drain(t)
		}
	})
}
