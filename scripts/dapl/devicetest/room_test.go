package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// sharing returns endpoints whose completions all come to one EVD of the given length, and connected peers of theirs.
// Each endpoint may have 16 receives and 16 requests outstanding.
func (a *adapter) sharing(t *testing.T, length int32, endpoints int) (evd queue, shared, peers []*endpoint) {
	t.Helper()
	handle, r := cgo.EVDCreate(a.IAHandle, length, 0, cgo.EVDDTO)
	success(t, "EVDCreate", r)
	t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(handle)) })
	evd, l := queue{EVDHandle: handle}, a.listen(t)
	for range endpoints {
		e := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
			attr := endpointAttr()
			attr.MaxRecvDTOs, attr.MaxRequestDTOs = 16, 16
			return cgo.EPCreate(a.IAHandle, e.pz, handle, handle, e.connect.EVDHandle, attr)
		})
		peer := a.newEndpoint(t)
		a.connect(t, l, peer, e, nil)
		shared, peers = append(shared, e), append(peers, peer)
	}
	return evd, shared, peers
}

func wantNoRoom(t *testing.T, call string, r cgo.Return) {
	t.Helper()
	outcome(t, call, r, cgo.InsufficientResources, cgo.ResourceTEVD)
}

// take takes n completions.
func (q queue) take(t *testing.T, n int) (events []cgo.Event) {
	t.Helper()
	eventually(t, "the completions are there", func() bool {
		var event cgo.Event
		for len(events) < n && cgo.EVDDequeue(q.EVDHandle, &event).OK() {
			events = append(events, event)
		}
		return len(events) == n
	})
	return events
}

// An EVD on which more may be outstanding than it holds never gets more: a post without room fails, and changes
// nothing. In the published library the EVD overflows and its endpoints hang.
func TestPostWithoutRoom(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		evd, shared, peers := a.sharing(t, 10, 3)
		length := int(evd.length(t))
		for round := range 20 {
			for i := range length {
				e := shared[i%len(shared)]
				e.postRecv(t, uint64(i))
			}
			e := shared[round%len(shared)]
			segments, remote := []cgo.LMRTriplet{e.memory.local(0, 8)}, peers[round%len(shared)].memory.remote(0, 8)
			wantNoRoom(t, "EPPostRecv", cgo.EPPostRecv(e.EPHandle, segments, 100, cgo.CompletionDefault))
			wantNoRoom(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(e.EPHandle, segments, 100, &remote, cgo.CompletionDefault))
			wantNoRoom(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(e.EPHandle, segments, 100, &remote, cgo.CompletionSuppress))
			for i := range length {
				peer := peers[i%len(shared)]
				success(t, "EPPostSend", cgo.EPPostSend(peer.EPHandle, []cgo.LMRTriplet{peer.memory.local(0, 8)}, uint64(i), cgo.CompletionDefault))
				peer.request.completion(t, cgo.EventDTOCompletion, uint64(i))
			}
			// What was not taken has its room still, wherever the library keeps it.
			var first cgo.Event
			_, r := cgo.EVDWait(evd.EVDHandle, cgo.TimeoutInfinite, int32(length), &first)
			success(t, "EVDWait", r)
			success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(e.EPHandle, segments, 100, &remote, cgo.CompletionDefault))
			wantNoRoom(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(e.EPHandle, segments, 101, &remote, cgo.CompletionDefault))
			for _, event := range evd.take(t, length) {
				if event.DTO().Status != cgo.DTOSuccess {
					t.Fatalf("operation %d completes with %v", event.DTO().UserCookie, event.DTO().Status)
				}
			}
			evd.empty(t)
		}
		for _, e := range shared {
			e.idleSoon(t)
		}
	})
}

// Suppressed requests take room, too, as they may fail. They give it back without an event.
func TestRoomOfSuppressedRequests(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		evd, shared, peers := a.sharing(t, 10, 3)
		for i := range 200 {
			e, remote := shared[i%len(shared)], peers[i%len(shared)].memory.remote(0, 8)
			eventually(t, "there is room", func() bool {
				r := cgo.EPPostRDMAWrite(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 8)}, 1, &remote, cgo.CompletionSuppress)
				if !r.OK() {
					wantNoRoom(t, "EPPostRDMAWrite", r)
				}
				return r.OK()
			})
		}
		for _, e := range shared {
			e.idleSoon(t)
		}
		evd.empty(t)
	})
}

// Room is counted once another endpoint makes an EVD too short, with what is outstanding by then, and not any more
// when the endpoint has gone.
func TestRoomCountsWhatIsOutstanding(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		evd, shared, peers := a.sharing(t, 32, 1)
		length, e := int(evd.length(t)), shared[0]
		for i := range 16 {
			e.postRecv(t, uint64(i))
		}
		for range 3 {
			remote := peers[0].memory.remote(0, 8)
			segments := []cgo.LMRTriplet{e.memory.local(0, 8)}
			for cookie := range uint64(3) { // silent, and not known to be done
				success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(e.EPHandle, segments, cookie, &remote, cgo.CompletionSuppress))
			}
			attr := endpointAttr()
			attr.MaxRecvDTOs, attr.MaxRequestDTOs = int32(length), 32
			other, r := cgo.EPCreate(a.IAHandle, e.pz, evd.EVDHandle, evd.EVDHandle, e.connect.EVDHandle, attr)
			success(t, "EPCreate", r)
			e.idleSoon(t)
			posted := 0
			for ; posted < length; posted++ {
				r := cgo.EPPostRecv(other, segments, 200, cgo.CompletionDefault)
				if !r.OK() {
					wantNoRoom(t, "EPPostRecv", r)
					break
				}
			}
			if posted != length-16 {
				t.Errorf("there is room for %d more receives, want %d", posted, length-16)
			}
			success(t, "EPFree", cgo.EPFree(other)) // frees their room
		}
		success(t, "EPPostRDMAWrite", func() cgo.Return {
			remote := peers[0].memory.remote(0, 8)
			return cgo.EPPostRDMAWrite(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 8)}, 7, &remote, cgo.CompletionDefault)
		}())
		if event := evd.take(t, 1)[0]; event.DTO().UserCookie != 7 {
			t.Errorf("got the completion %d, want 7", event.DTO().UserCookie)
		}
		disconnect(t, e, peers[0])
		evd.take(t, 16)
		evd.empty(t)
	})
}

// Receives of a shared queue take room on each EVD on which they may complete.
func TestRoomOfSharedReceives(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		var srq cgo.SRQHandle
		var evd cgo.EVDHandle
		var r cgo.Return
		e := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
			evd, r = cgo.EVDCreate(a.IAHandle, 4, 0, cgo.EVDDTO)
			success(t, "EVDCreate", r)
			t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(evd)) })
			srq, r = cgo.SRQCreate(a.IAHandle, e.pz, &cgo.SRQAttr{MaxRecvDTOs: 64, MaxRecvIOV: 2})
			success(t, "SRQCreate", r)
			t.Cleanup(func() { success(t, "SRQFree", cgo.SRQFree(srq)) })
			return cgo.EPCreateWithSRQ(a.IAHandle, e.pz, evd, e.request.EVDHandle, e.connect.EVDHandle, srq, endpointAttr())
		})
		q := queue{EVDHandle: evd}
		length := int(q.length(t))
		peer := a.newEndpoint(t)
		a.connect(t, a.listen(t), peer, e, nil)
		post := func() cgo.Return {
			return cgo.SRQPostRecv(srq, []cgo.LMRTriplet{e.memory.local(0, 64)}, 1)
		}
		for range 20 {
			for range length {
				success(t, "SRQPostRecv", post())
			}
			wantNoRoom(t, "SRQPostRecv", post())
			for i := range uint64(length) {
				success(t, "EPPostSend", cgo.EPPostSend(peer.EPHandle, []cgo.LMRTriplet{peer.memory.local(0, 8)}, i, cgo.CompletionDefault))
				peer.request.completion(t, cgo.EventDTOCompletion, i)
			}
			q.take(t, length)
		}

		// An EVD that is too short for the receives that are posted is refused.
		for range length {
			success(t, "SRQPostRecv", post())
		}
		short, r := cgo.EVDCreate(a.IAHandle, 1, 0, cgo.EVDDTO)
		success(t, "EVDCreate", r)
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(short)) })
		if int((queue{EVDHandle: short}).length(t)) < length {
			_, r = cgo.EPCreateWithSRQ(a.IAHandle, e.pz, short, e.request.EVDHandle, e.connect.EVDHandle, srq, endpointAttr())
			wantNoRoom(t, "EPCreateWithSRQ", r)
			wantNoRoom(t, "SRQPostRecv", post())
		}
		for i := range uint64(length) {
			success(t, "EPPostSend", cgo.EPPostSend(peer.EPHandle, []cgo.LMRTriplet{peer.memory.local(0, 8)}, i, cgo.CompletionDefault))
			peer.request.completion(t, cgo.EventDTOCompletion, i)
		}
		q.take(t, length)
		ep, r := cgo.EPCreateWithSRQ(a.IAHandle, e.pz, short, e.request.EVDHandle, e.connect.EVDHandle, srq, endpointAttr())
		success(t, "EPCreateWithSRQ", r)
		success(t, "EPFree", cgo.EPFree(ep))
	})
}

// An EVD as long as a shared queue has room for all of its receives, whether they are posted before endpoints are made or
// later. The dtestsrq of the dapl package is made so.
func TestRoomForWholeSharedQueue(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const receives, endpoints = 40, 4
		e := a.newEndpoint(t)
		srq, r := cgo.SRQCreate(a.IAHandle, e.pz, &cgo.SRQAttr{MaxRecvDTOs: receives, MaxRecvIOV: 1})
		success(t, "SRQCreate", r)
		t.Cleanup(func() { success(t, "SRQFree", cgo.SRQFree(srq)) })
		evd, r := cgo.EVDCreate(a.IAHandle, receives, 0, cgo.EVDDTO)
		success(t, "EVDCreate", r)
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(evd)) })
		for range endpoints {
			ep, r := cgo.EPCreateWithSRQ(a.IAHandle, e.pz, evd, e.request.EVDHandle, e.connect.EVDHandle, srq, endpointAttr())
			success(t, "EPCreateWithSRQ", r)
			t.Cleanup(func() { success(t, "EPFree", cgo.EPFree(ep)) })
			for range receives / endpoints {
				success(t, "SRQPostRecv", cgo.SRQPostRecv(srq, []cgo.LMRTriplet{e.memory.local(0, 64)}, 1))
			}
		}
	})
}

// A queue that grows has the room on its EVDs counted before it takes more receives.
func TestRoomOfResizedSharedQueue(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			t.Skip("soft-iWARP resizes no queue")
		}
		evd, r := cgo.EVDCreate(a.IAHandle, 20, 0, cgo.EVDDTO)
		success(t, "EVDCreate", r)
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(evd)) })
		q := queue{EVDHandle: evd}
		var srq sharedQueue
		e := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
			srq = a.newSRQ(t, e.pz)
			return cgo.EPCreateWithSRQ(a.IAHandle, e.pz, evd, e.request.EVDHandle, e.connect.EVDHandle, srq.SRQHandle, endpointAttr())
		})
		peer := a.newEndpoint(t)
		a.connect(t, a.listen(t), peer, e, nil)
		posted := uint64(0)
		post := func() cgo.Return {
			posted++
			return cgo.SRQPostRecv(srq.SRQHandle, []cgo.LMRTriplet{e.memory.local(0, 64)}, posted)
		}
		for range 5 {
			srq.fill(t, e.memory, 0)
			length := int(q.length(t))
			srq.resize(t, a, int32(length)+40)
			for range length - 8 {
				success(t, "SRQPostRecv", post())
			}
			wantNoRoom(t, "SRQPostRecv", post())
			srq.resize(t, a, int32(length))
			outcome(t, "SRQPostRecv to a full queue", post(), cgo.InsufficientResources, cgo.ResourceMemory)
			for i := range uint64(length) {
				success(t, "EPPostSend", cgo.EPPostSend(peer.EPHandle, []cgo.LMRTriplet{peer.memory.local(0, 8)}, i, cgo.CompletionDefault))
				peer.request.completion(t, cgo.EventDTOCompletion, i)
			}
			q.take(t, length)
			srq.resize(t, a, 8)
		}
	})
}

// A resize leaves room for what is outstanding and for what was not taken.
func TestResizeKeepsRoom(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			t.Skip("soft-iWARP resizes no queue")
		}
		evd, shared, _ := a.sharing(t, 64, 2)
		for i := range uint64(8) {
			shared[0].postRecv(t, i)
			shared[1].postRecv(t, i)
		}
		outcome(t, "EVDResize", cgo.EVDResize(evd.EVDHandle, 15), cgo.InvalidState, cgo.NoSubtype)
		success(t, "EVDResize", cgo.EVDResize(evd.EVDHandle, 17))
		shared[0].postRecv(t, 8)
		wantNoRoom(t, "EPPostRecv", cgo.EPPostRecv(shared[1].EPHandle, []cgo.LMRTriplet{shared[1].memory.local(0, 8)}, 9, cgo.CompletionDefault))
		success(t, "EVDResize", cgo.EVDResize(evd.EVDHandle, 18))
		shared[1].postRecv(t, 9)
	})
}

// A request that finds no room while its connection ends is refused, or completes once like the others.
func TestPostWithoutRoomAtTheEnd(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const rounds, beyond = 20, 1000
		l := a.listen(t)
		for _, flags := range []cgo.CompletionFlags{cgo.CompletionDefault, cgo.CompletionSuppress} {
			handle, r := cgo.EVDCreate(a.IAHandle, 500, 0, cgo.EVDDTO)
			success(t, "EVDCreate", r)
			t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(handle)) })
			evd, peer := queue{EVDHandle: handle}, a.newEndpoint(t)
			e := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
				attr := endpointAttr()
				attr.MaxRequestDTOs = 2 * evd.length(t)
				return cgo.EPCreate(a.IAHandle, e.pz, e.recv.EVDHandle, handle, e.connect.EVDHandle, attr)
			})
			a.connect(t, l, peer, e, nil)
			remote := peer.memory.remote(0, 8)
			for range rounds {
				ended := make(chan cgo.Return, 1)
				go func() { ended <- cgo.EPDisconnect(peer.EPHandle, cgo.CloseAbrupt) }()
				posted := map[uint64]bool{}
				for cookie, refused := uint64(0), 0; refused < beyond; cookie++ {
					r := cgo.EPPostRDMAWrite(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 8)}, cookie, &remote, flags)
					if r.OK() {
						posted[cookie] = true
						continue
					}
					if state, _, _, _ := cgo.EPGetStatus(e.EPHandle); state == cgo.EPStateDisconnected {
						refused++
					}
				}
				success(t, "EPDisconnect", <-ended)
				e.connect.next(t) // the connection may have broken, too
				peer.connect.next(t)
				e.idleSoon(t)
				completed := 0
				for event := (cgo.Event{}); cgo.EVDDequeue(evd.EVDHandle, &event).OK(); completed++ {
					dto := event.DTO()
					if !posted[dto.UserCookie] {
						t.Fatalf("request %d, which was refused or has completed, completes with %v", dto.UserCookie, dto.Status)
					}
					delete(posted, dto.UserCookie)
				}
				if flags == cgo.CompletionDefault && len(posted) != 0 {
					t.Fatalf("%d requests have completed, %d have not", completed, len(posted))
				}
				success(t, "EPReset", cgo.EPReset(e.EPHandle))
				success(t, "EPReset", cgo.EPReset(peer.EPHandle))
				a.connect(t, l, peer, e, nil)
			}
		}
	})
}
