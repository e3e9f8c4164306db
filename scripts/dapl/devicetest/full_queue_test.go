package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// smallPair returns a connected pair whose passive end has a short receive EVD without a CNO. The EVD is full of
// software events, and has room for the completions of all receives besides.
func (a *adapter) smallPair(t *testing.T) (active, passive *endpoint) {
	t.Helper()
	evd, r := cgo.EVDCreate(a.IAHandle, 8, 0, cgo.EVDDTO|cgo.EVDSoftware)
	success(t, "EVDCreate", r)
	t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(evd)) })
	active = a.newEndpoint(t)
	passive = a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
		e.recv.EVDHandle = evd
		attr := endpointAttr()
		attr.MaxRecvDTOs = e.recv.length(t)
		return cgo.EPCreate(a.IAHandle, e.pz, evd, e.request.EVDHandle, e.connect.EVDHandle, attr)
	})
	a.connect(t, a.listen(t), active, passive, nil)
	for i := range passive.recv.length(t) {
		success(t, "EVDPostSE", cgo.EVDPostSE(evd, cgo.EventSoftware, uint64(i)))
	}
	return active, passive
}

// waitSoftware waits until the EVD is full, and takes the software events.
func (q queue) waitSoftware(t *testing.T, length int32) {
	t.Helper()
	var event cgo.Event
	_, r := cgo.EVDWait(q.EVDHandle, cgo.TimeoutInfinite, length, &event)
	success(t, "EVDWait", r)
	for i := range length {
		if i > 0 {
			success(t, "EVDDequeue", cgo.EVDDequeue(q.EVDHandle, &event))
		}
		if event.Number != cgo.EventSoftware || event.Data[0] != uint64(i) {
			t.Fatalf("got the event %v, want software event %d", event.Number, i)
		}
	}
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
		length := passive.recv.length(t)
		receive(t, active, passive, 0, uint64(length))
		passive.recv.waitSoftware(t, length)
		waitFull(t, passive.recv.EVDHandle, length, 0) // iWARP may complete the last one after its send
		for cookie := uint64(1); cookie < uint64(length); cookie++ {
			dequeueCookie(t, passive.recv.EVDHandle, cookie)
		}
		passive.recv.empty(t)
	})
}

// The receives that the end of a connection flushes are not lost, either, and nothing refers to the endpoint then.
func TestFullQueueKeepsFlushed(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.smallPair(t)
		length := passive.recv.length(t)
		const posted = 5
		for cookie := range uint64(posted) {
			passive.postRecv(t, cookie)
		}
		disconnect(t, passive, active)
		success(t, "EPReset", cgo.EPReset(passive.EPHandle))
		passive.recv.waitSoftware(t, length)
		for cookie := range uint64(posted) {
			if event := dequeueCookie(t, passive.recv.EVDHandle, cookie); event.DTO().Status != cgo.DTOErrFlushed {
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
