package devicetest

import (
	"bytes"
	"os"
	"testing"

	"github.com/goudat/goudat/cgo"
)

type sharedQueue struct{ cgo.SRQHandle }

func (a *adapter) newSRQ(t testing.TB, pz cgo.PZHandle) sharedQueue {
	t.Helper()
	srq, r := cgo.SRQCreate(a.IAHandle, pz, &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 2})
	success(t, "SRQCreate", r)
	t.Cleanup(func() { success(t, "SRQFree", cgo.SRQFree(srq)) })
	return sharedQueue{srq}
}

func (q sharedQueue) query(t testing.TB) (param cgo.SRQParam) {
	t.Helper()
	success(t, "SRQQuery", cgo.SRQQuery(q.SRQHandle, cgo.SRQFieldAll, &param))
	return param
}

func (q sharedQueue) want(t testing.TB, want cgo.SRQParam) {
	t.Helper()
	if got := q.query(t); got != want {
		t.Errorf("got the parameters %+v, want %+v", got, want)
	}
}

func TestSRQQuery(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		pz := a.newPZ(t)
		m, srq := a.newMemory(t, pz), a.newSRQ(t, pz)
		want := cgo.SRQParam{
			IAHandle:    a.IAHandle,
			SRQState:    cgo.SRQStateOperational,
			PZHandle:    pz,
			MaxRecvDTOs: 8,
			MaxRecvIOV:  2,
		}
		srq.want(t, want)
		success(t, "SRQPostRecv", cgo.SRQPostRecv(srq.SRQHandle, []cgo.LMRTriplet{m.local(0, 64)}, 1))
		want.OutstandingDTOCount = 1
		want.AvailableDTOCount = cgo.ValueUnknown // an endpoint may have taken it
		srq.want(t, want)
	})
}

// newSharing makes an endpoint that takes its receives from a shared queue.
func (a *adapter) newSharing(t testing.TB) (e *endpoint, srq sharedQueue) {
	t.Helper()
	e = a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
		srq = a.newSRQ(t, e.pz)
		return cgo.EPCreateWithSRQ(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, srq.SRQHandle, endpointAttr())
	})
	return e, srq
}

func TestSRQTransfer(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		passive, srq := a.newSharing(t)
		outcome(t, "SRQFree", cgo.SRQFree(srq.SRQHandle), cgo.InvalidState, cgo.InvalidStateSRQInUse)
		segments := []cgo.LMRTriplet{passive.memory.local(0, 64)}
		outcome(t, "EPPostRecv", cgo.EPPostRecv(passive.EPHandle, segments, 1, cgo.CompletionDefault),
			cgo.InvalidState, cgo.InvalidStateSRQInUse)

		active := a.newEndpoint(t)
		a.connect(t, a.listen(t), active, passive, nil)
		success(t, "SRQPostRecv", cgo.SRQPostRecv(srq.SRQHandle, segments, 2))
		copy(active.memory.bytes, "shared")
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 6)}, 3, cgo.CompletionDefault))
		active.request.completion(t, cgo.EventDTOCompletion, 3)
		received := passive.recv.completion(t, cgo.EventDTOCompletion, 2)
		if dto := received.DTO(); dto.EPHandle != passive.EPHandle || string(passive.memory.bytes[:dto.TransferredLength]) != "shared" {
			t.Errorf("received %q on %#x, want it on the endpoint, %#x", passive.memory.bytes[:dto.TransferredLength], dto.EPHandle, passive.EPHandle)
		}
	})
}

// A receive keeps its cookie until its completion is taken, while others of the queue come and go.
func TestSharedReceiveKeepsCookie(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		first, srq := a.newSharing(t)
		second := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
			return cgo.EPCreateWithSRQ(a.IAHandle, first.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, srq.SRQHandle, endpointAttr())
		})
		l, peers := a.listen(t), []*endpoint{a.newEndpoint(t), a.newEndpoint(t)}
		a.connect(t, l, peers[0], first, nil)
		a.connect(t, l, peers[1], second, nil)
		send := func(peer *endpoint, cookie uint64) {
			success(t, "SRQPostRecv", cgo.SRQPostRecv(srq.SRQHandle, []cgo.LMRTriplet{first.memory.local(0, 64)}, cookie))
			success(t, "EPPostSend", cgo.EPPostSend(peer.EPHandle, []cgo.LMRTriplet{peer.memory.local(0, 8)}, cookie, cgo.CompletionDefault))
			peer.request.completion(t, cgo.EventDTOCompletion, cookie)
		}
		send(peers[0], 100)
		for cookie := range uint64(srq.query(t).MaxRecvDTOs) {
			send(peers[1], cookie)
			second.recv.completion(t, cgo.EventDTOCompletion, cookie)
		}
		first.recv.completion(t, cgo.EventDTOCompletion, 100)
	})
}

func TestEPCreateWithSRQRefused(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		e := a.newEndpoint(t)
		ep, r := cgo.EPCreateWithSRQ(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, 0, endpointAttr())
		outcome(t, "EPCreateWithSRQ", r, cgo.InvalidHandle, cgo.InvalidHandleSRQ)
		if ep != 0 {
			t.Errorf("EPCreateWithSRQ gave the handle %#x though it failed", ep)
		}
	})
}

// The completion of a shared receive names the endpoint that has received, also if endpoints share the EVD. What an
// endpoint has received is dropped with it, and its place in the queue is free again.
func TestSharedReceiveNamesEndpoint(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		kept, shared := a.newSharing(t)
		srq := shared.SRQHandle
		l := a.listen(t)
		keptPeer := a.newEndpoint(t)
		a.connect(t, l, keptPeer, kept, nil)
		for range 10 {
			other, peer := *kept, a.newEndpoint(t)
			var r cgo.Return
			other.EPHandle, r = cgo.EPCreateWithSRQ(a.IAHandle, kept.pz, kept.recv.EVDHandle, kept.request.EVDHandle, kept.connect.EVDHandle, srq, endpointAttr())
			success(t, "EPCreateWithSRQ", r)
			peer.connectTo(t, a.address, l.qual, cgo.TimeoutInfinite)
			success(t, "CRAccept", cgo.CRAccept(l.request(t), other.EPHandle, nil))
			peer.connect.expect(t, cgo.EventConnectionEstablished)
			kept.connect.expect(t, cgo.EventConnectionEstablished)

			ends, peers := []*endpoint{kept, &other}, []*endpoint{keptPeer, peer}
			send := func(i, cookie uint64) {
				success(t, "SRQPostRecv", cgo.SRQPostRecv(srq, []cgo.LMRTriplet{kept.memory.local(0, 64)}, cookie))
				success(t, "EPPostSend", cgo.EPPostSend(peers[i].EPHandle, []cgo.LMRTriplet{peers[i].memory.local(0, 8)}, cookie, cgo.CompletionDefault))
				peers[i].request.completion(t, cgo.EventDTOCompletion, cookie)
			}
			for cookie := range uint64(8) {
				send(cookie%2, cookie)
				if event := kept.recv.completion(t, cgo.EventDTOCompletion, cookie); event.DTO().EPHandle != ends[cookie%2].EPHandle {
					t.Fatalf("receive %d completes for %#x, want %#x", cookie, event.DTO().EPHandle, ends[cookie%2].EPHandle)
				}
			}

			send(1, 20)
			send(0, 21)
			send(1, 22)
			var event cgo.Event
			more, r := cgo.EVDWait(kept.recv.EVDHandle, cgo.TimeoutInfinite, 3, &event)
			success(t, "EVDWait", r)
			if more != 2 {
				t.Fatalf("there are %d more completions, want 2", more)
			}
			success(t, "EPDisconnect", cgo.EPDisconnect(other.EPHandle, cgo.CloseAbrupt))
			peer.connect.expect(t, cgo.EventConnectionDisconnected)
			success(t, "EPFree", cgo.EPFree(other.EPHandle))
			if event.DTO().EPHandle == other.EPHandle {
				event = kept.recv.completion(t, cgo.EventDTOCompletion, 21)
			}
			if event.DTO().EPHandle != kept.EPHandle || event.DTO().UserCookie != 21 {
				t.Errorf("receive %d completes for %#x, want receive 21 for %#x", event.DTO().UserCookie, event.DTO().EPHandle, kept.EPHandle)
			}
			kept.recv.empty(t)
			if got := shared.query(t).OutstandingDTOCount; got != 0 {
				t.Fatalf("the queue has %d receives outstanding, want none", got)
			}
			kept.connect.drain(t)
		}
	})
}

// A receive that the adapter forgets, as its endpoint ends within a message, completes as flushed once a later one has
// completed: a consumer that posts what has completed loses none. Soft-RoCE forgets it since Linux 6.3.
func TestLostSharedReceives(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const receives, size = 2, 4 << 20
		var srq cgo.SRQHandle
		kept := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
			var r cgo.Return
			srq, r = cgo.SRQCreate(a.IAHandle, e.pz, &cgo.SRQAttr{MaxRecvDTOs: receives, MaxRecvIOV: 1})
			success(t, "SRQCreate", r)
			t.Cleanup(func() { success(t, "SRQFree", cgo.SRQFree(srq)) })
			return cgo.EPCreateWithSRQ(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, srq, endpointAttr())
		})
		m := a.newLongMemory(t, kept.pz, size)
		var posted [receives]bool
		post := func(cookie uint64) {
			t.Helper()
			if posted[cookie] {
				t.Fatalf("receive %d completes twice", cookie)
			}
			posted[cookie] = true
			success(t, "SRQPostRecv", cgo.SRQPostRecv(srq, []cgo.LMRTriplet{m.local(0, size)}, cookie))
		}
		for cookie := range uint64(receives) {
			post(cookie)
		}
		lost := 0
		again := func(event cgo.Event) (received bool) {
			t.Helper()
			dto := event.DTO()
			if event.Number != cgo.EventDTOCompletion || dto.Operation != cgo.DTOReceive || dto.Status != cgo.DTOSuccess && dto.Status != cgo.DTOErrFlushed {
				t.Fatalf("got the event %v: %+v", event.Number, dto)
			}
			if dto.EPHandle == 0 {
				lost++
			}
			posted[dto.UserCookie] = false
			post(dto.UserCookie)
			return dto.Status == cgo.DTOSuccess
		}
		drain := func() {
			t.Helper()
			for {
				var event cgo.Event
				if r := cgo.EVDDequeue(kept.recv.EVDHandle, &event); r.Type() == cgo.QueueEmpty {
					return
				}
				again(event)
			}
		}
		l := a.listen(t)
		steady := a.newEndpoint(t)
		a.connect(t, l, steady, kept, nil)
		for range 8 {
			other, peer := *kept, a.newEndpoint(t)
			var r cgo.Return
			other.EPHandle, r = cgo.EPCreateWithSRQ(a.IAHandle, kept.pz, kept.recv.EVDHandle, kept.request.EVDHandle, kept.connect.EVDHandle, srq, endpointAttr())
			success(t, "EPCreateWithSRQ", r)
			peer.connectTo(t, a.address, l.qual, cgo.TimeoutInfinite)
			success(t, "CRAccept", cgo.CRAccept(l.request(t), other.EPHandle, nil))
			peer.connect.expect(t, cgo.EventConnectionEstablished)
			kept.connect.expect(t, cgo.EventConnectionEstablished)
			long := a.newLongMemory(t, peer.pz, size)
			success(t, "EPPostSend", cgo.EPPostSend(peer.EPHandle, []cgo.LMRTriplet{long.local(0, size)}, 1, cgo.CompletionDefault))
			disconnect(t, peer, &other)
			drain()
			success(t, "EPFree", cgo.EPFree(other.EPHandle))

			success(t, "EPPostSend", cgo.EPPostSend(steady.EPHandle, []cgo.LMRTriplet{steady.memory.local(0, 8)}, 2, cgo.CompletionDefault))
			steady.request.completion(t, cgo.EventDTOCompletion, 2)
			for !again(kept.recv.next(t)) {
			}
			drain()
		}
		if posted != [receives]bool{true, true} {
			t.Errorf("%v are posted", posted)
		}
		if got := (sharedQueue{srq}).query(t).OutstandingDTOCount; got != receives {
			t.Errorf("the queue has %d receives outstanding, want %d", got, receives)
		}
		t.Logf("%d receives were lost", lost)
	})
}

// deviceMemory returns how many pieces of a device's memory the process has mapped, of which a queue of soft-RoCE or
// soft-iWARP is one.
func deviceMemory(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(maps, []byte("/dev/infiniband/uverbs"))
}

// A shared queue keeps its protection zone. An adapter that is closed abruptly takes its shared queues along.
func TestSharedQueueAbruptClose(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		before := deviceMemory(t)
		ia, _, r := cgo.IAOpen(a.name, 8)
		success(t, "IAOpen", r)
		pz, r := cgo.PZCreate(ia)
		success(t, "PZCreate", r)
		evd, r := cgo.EVDCreate(ia, 8, 0, cgo.EVDDTO)
		success(t, "EVDCreate", r)
		connect, r := cgo.EVDCreate(ia, 8, 0, cgo.EVDConnection)
		success(t, "EVDCreate", r)
		for range 2 {
			srq, r := cgo.SRQCreate(ia, pz, &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 1})
			success(t, "SRQCreate", r)
			outcome(t, "PZFree", cgo.PZFree(pz), cgo.InvalidState, cgo.InvalidStatePZInUse)
			_, r = cgo.EPCreateWithSRQ(ia, pz, evd, evd, connect, srq, endpointAttr())
			success(t, "EPCreateWithSRQ", r)
		}
		if deviceMemory(t) == before {
			t.Logf("not tested: the queues of %s are no memory of the device", a.device)
		}
		success(t, "IAClose", cgo.IAClose(ia, cgo.CloseAbrupt))
		if after := deviceMemory(t); after != before {
			t.Errorf("%d pieces of the device's memory are left", after-before)
		}
	})
}
