package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

func TestEVDQuery(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDConnection)
		var param cgo.EVDParam
		success(t, "EVDQuery", cgo.EVDQuery(q.EVDHandle, cgo.EVDFieldAll, &param))
		want := cgo.EVDParam{
			IAHandle:  a.IAHandle,
			QLen:      queueLength,
			State:     cgo.EVDStateEnabled | cgo.EVDStateWaitable,
			CNOHandle: q.cno,
			Flags:     cgo.EVDConnection,
		}
		if param != want {
			t.Errorf("got the parameters %+v, want %+v", param, want)
		}
		success(t, "EVDDisable", cgo.EVDDisable(q.EVDHandle))
		success(t, "EVDQuery", cgo.EVDQuery(q.EVDHandle, cgo.EVDFieldAll, &param))
		if param.State&cgo.EVDStateDisabled == 0 {
			t.Errorf("the state of a disabled EVD is %v", param.State)
		}
		success(t, "EVDEnable", cgo.EVDEnable(q.EVDHandle))
	})
}

func TestEVDDequeueEmpty(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		for _, flags := range []cgo.EVDFlags{cgo.EVDDTO, cgo.EVDCR, cgo.EVDConnection, cgo.EVDSoftware} {
			q := a.newQueue(t, flags)
			var event cgo.Event
			outcome(t, "EVDDequeue", cgo.EVDDequeue(q.EVDHandle, &event), cgo.QueueEmpty, cgo.NoSubtype)
			n, r := cgo.EVDDequeueBatch(q.EVDHandle, make([]cgo.Event, 4))
			outcome(t, "EVDDequeueBatch", r, cgo.QueueEmpty, cgo.NoSubtype)
			if n != 0 {
				t.Errorf("EVDDequeueBatch took %d events of an empty EVD", n)
			}
		}
	})
}

// EVDDequeue clears an event that there is not; the others write what there is.
func TestDequeueOfEmptyQueue(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDSoftware)
		for posted := range 3 {
			for name, dequeue := range map[string]func([]cgo.Event) (int, cgo.Return){
				"EVDDequeueBatch": func(events []cgo.Event) (int, cgo.Return) { return cgo.EVDDequeueBatch(q.EVDHandle, events) },
				"EVDSpin":         func(events []cgo.Event) (int, cgo.Return) { return cgo.EVDSpin(q.EVDHandle, events, 0) },
			} {
				for range posted {
					success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, 7))
				}
				events := make([]cgo.Event, 4)
				n, r := dequeue(events)
				outcome(t, name, r, cgo.QueueEmpty, cgo.NoSubtype)
				if n != posted {
					t.Errorf("%s took %d events, want %d", name, n, posted)
				}
				for _, e := range events[:n] {
					if e.Number != cgo.EventSoftware || e.Software().Pointer != 7 {
						t.Errorf("%s took %+v", name, e)
					}
				}
			}
		}
		event := cgo.Event{Number: cgo.EventSoftware}
		outcome(t, "EVDDequeue", cgo.EVDDequeue(q.EVDHandle, &event), cgo.QueueEmpty, cgo.NoSubtype)
		if event != (cgo.Event{}) {
			t.Errorf("EVDDequeue leaves %+v", event)
		}
	})
}

func TestEVDModifyCNO(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q, other := a.newQueue(t, cgo.EVDConnection), a.newQueue(t, cgo.EVDConnection)
		for _, cno := range []cgo.CNOHandle{0, other.cno, q.cno} {
			success(t, "EVDModifyCNO", cgo.EVDModifyCNO(q.EVDHandle, cno))
			var param cgo.EVDParam
			success(t, "EVDQuery", cgo.EVDQuery(q.EVDHandle, cgo.EVDFieldAll, &param))
			if param.CNOHandle != cno {
				t.Errorf("the EVD has the CNO %#x, want %#x", param.CNOHandle, cno)
			}
		}
	})
}

func TestCNO(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDConnection)
		evd, r := cgo.CNOWait(q.cno, 0)
		outcome(t, "CNOWait", r, cgo.QueueEmpty, cgo.NoSubtype)
		if evd != 0 {
			t.Errorf("CNOWait named the EVD %#x though nothing came", evd)
		}
		success(t, "CNOModifyAgent", cgo.CNOModifyAgent(q.cno, 0, 0))
		var param cgo.CNOParam
		success(t, "CNOQuery", cgo.CNOQuery(q.cno, cgo.CNOFieldAll, &param))
		if want := (cgo.CNOParam{IAHandle: a.IAHandle, ProxyType: cgo.ProxyTypeAgent}); param != want {
			t.Errorf("got the parameters %+v, want %+v", param, want)
		}
		outcome(t, "CNOFree", cgo.CNOFree(q.cno), cgo.InvalidState, cgo.InvalidStateCNOInUse)
	})
}

func TestEVDPostSE(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q, plain := a.newQueue(t, cgo.EVDSoftware), a.newQueue(t, cgo.EVDConnection)
		outcome(t, "EVDPostSE of another number", cgo.EVDPostSE(q.EVDHandle, cgo.EventDTOCompletion, 1), cgo.InvalidParameter, cgo.InvalidArg2)
		outcome(t, "EVDPostSE", cgo.EVDPostSE(plain.EVDHandle, cgo.EventSoftware, 1), cgo.InvalidParameter, cgo.InvalidArg1)

		const first = 0xfeedfacecafebeef
		for i := range uint64(2) {
			success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, first+i))
		}
		event := q.expect(t, cgo.EventSoftware)
		if event.Data[0] != first || event.EVD != q.EVDHandle {
			t.Errorf("got %#x from the EVD %#x, want %#x from %#x", event.Data[0], event.EVD, uint64(first), q.EVDHandle)
		}
		more, r := cgo.EVDWait(q.EVDHandle, 0, 1, &event)
		success(t, "EVDWait", r)
		if event.Data[0] != first+1 || more != 0 {
			t.Errorf("EVDWait gave %#x and %d more, want %#x and none", event.Data[0], more, uint64(first+1))
		}
	})
}

func TestEVDWait(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDSoftware)
		var event cgo.Event
		const millisecond = 1000
		_, r := cgo.EVDWait(q.EVDHandle, millisecond, 1, &event)
		outcome(t, "EVDWait", r, cgo.TimeoutExpired, cgo.NoSubtype)
		success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, 1))
		more, r := cgo.EVDWait(q.EVDHandle, millisecond, 2, &event)
		outcome(t, "EVDWait for two events", r, cgo.TimeoutExpired, cgo.NoSubtype)
		if more != 1 {
			t.Errorf("EVDWait for two events says that %d are queued, want 1", more)
		}

		success(t, "EVDSetUnwaitable", cgo.EVDSetUnwaitable(q.EVDHandle))
		_, r = cgo.EVDWait(q.EVDHandle, millisecond, 1, &event)
		outcome(t, "EVDWait", r, cgo.InvalidState, cgo.InvalidStateEVDUnwaitable)
		success(t, "EVDClearUnwaitable", cgo.EVDClearUnwaitable(q.EVDHandle))
		_, r = cgo.EVDWait(q.EVDHandle, millisecond, 1, &event)
		success(t, "EVDWait", r)
	})
}

// An EVD whose completion queue the kernel refuses is not made, and leaves nothing behind.
func TestEVDCreateRefused(t *testing.T) {
	preloaded(t, refusingKernel, func(t *testing.T, a *adapter) {
		tell(t, "queue")
		_, r := cgo.EVDCreate(a.IAHandle, queueLength, 0, cgo.EVDDTO)
		outcome(t, "EVDCreate", r, cgo.InsufficientResources, cgo.NoSubtype)
		untell(t)
		a.newQueue(t, cgo.EVDDTO)
	})
}

func (q queue) length(t testing.TB) int32 {
	t.Helper()
	var param cgo.EVDParam
	success(t, "EVDQuery", cgo.EVDQuery(q.EVDHandle, cgo.EVDFieldAll, &param))
	return param.QLen
}

func TestEVDResizeRefuses(t *testing.T) {
	outcome(t, "EVDResize(0)", cgo.EVDResize(0, 8), cgo.InvalidHandle, cgo.InvalidHandleEVDRequest)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDSoftware)
		for _, length := range []int32{0, -1, 1 << 30} {
			if r := cgo.EVDResize(q.EVDHandle, length); r.Type() != cgo.InvalidParameter {
				t.Errorf("EVDResize to %d returned %v, want an invalid parameter", length, r)
			}
		}
		for i := range uint64(4) {
			success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, i))
		}
		if r := cgo.EVDResize(q.EVDHandle, 3); r.Type() != cgo.InvalidState {
			t.Errorf("EVDResize to less than there is returned %v, want an invalid state", r)
		}
		if got := q.length(t); got != queueLength {
			t.Errorf("a refused resize leaves the length %d, want %d", got, queueLength)
		}
	})
}

// The events of a queue keep their order in each length, and the queue takes as many as it is long.
func TestEVDResize(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDSoftware)
		for _, length := range []int32{3, 4, 100, 7, 65, 8} {
			for i := range uint64(3) {
				success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, i))
			}
			success(t, "EVDResize", cgo.EVDResize(q.EVDHandle, length))
			if got := q.length(t); got != length {
				t.Errorf("the length is %d, want %d", got, length)
			}
			for i := uint64(3); i < uint64(length); i++ {
				success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, i))
			}
			for i := range uint64(length) {
				if event := q.expect(t, cgo.EventSoftware); event.Data[0] != i {
					t.Fatalf("got event %d of %d, want %d", event.Data[0], length, i)
				}
			}
			q.empty(t)
		}
	})
}

// A queue of completions changes its length while operations are in flight, completed, and taken. None is lost.
func TestEVDResizeInFlight(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		queues := []queue{passive.recv, active.request}
		resize := func(length int32) {
			for _, q := range queues {
				before := q.length(t)
				if r := cgo.EVDResize(q.EVDHandle, length); !a.iwarp {
					success(t, "EVDResize", r)
				} else if outcome(t, "EVDResize", r, cgo.ModelNotSupported, cgo.NoSubtype); q.length(t) != before {
					t.Errorf("a refused resize leaves the length %d, want %d", q.length(t), before)
				}
			}
		}
		segments := []cgo.LMRTriplet{active.memory.local(0, 8)}
		const window = 8
		for round := range int32(20) {
			for cookie := range uint64(window) {
				passive.postRecv(t, cookie)
			}
			resize(200 + round)
			for cookie := range uint64(window) {
				success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, segments, cookie, cgo.CompletionDefault))
				if cookie == window/2 {
					resize(300 + round)
				}
			}
			var event cgo.Event
			more, r := cgo.EVDWait(passive.recv.EVDHandle, cgo.TimeoutInfinite, 3, &event) // puts them into the queue
			success(t, "EVDWait", r)
			if more < 2 || event.DTO().UserCookie != 0 {
				t.Fatalf("got the receive %d, and %d more", event.DTO().UserCookie, more)
			}
			resize(40 + round)
			if r := cgo.EVDResize(passive.recv.EVDHandle, 1); r.OK() {
				t.Error("a queue shrinks below what it has")
			}
			for cookie := uint64(1); cookie < window; cookie++ {
				passive.recv.completion(t, cgo.EventDTOCompletion, cookie)
			}
			for cookie := range uint64(window) {
				active.request.completion(t, cgo.EventDTOCompletion, cookie)
			}
			for _, q := range queues {
				q.empty(t)
			}
			resize(16)
		}
	})
}

// smallPair returns a connected pair whose passive end has a short receive EVD without a CNO. The EVD is full of
// software events, and has room for the completions of all receives besides.
func (a *adapter) smallPair(t *testing.T) (active, passive *endpoint) {
	t.Helper()
	evd := a.newEVD(t, 8, 0, cgo.EVDDTO|cgo.EVDSoftware)
	attr := endpointAttr()
	attr.MaxRecvDTOs = queue{EVDHandle: evd}.length(t)
	passive = a.makeEndpoint(t, parts{recv: evd, attr: attr})
	active = a.newPeer(t, passive)
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
		active.deliver(t, cookie)
	}
}

// Completions for which an EVD has no room yet are not lost.
func TestFullQueueKeepsCompletions(t *testing.T) {
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
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.smallPair(t)
		length := passive.recv.length(t)
		const posted = 5
		for cookie := range uint64(posted) {
			passive.postRecv(t, cookie)
		}
		disconnect(t, passive, active)
		reset(t, passive)
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
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, kept := a.listen(t), a.newEndpoint(t)
		freed := *kept
		var r cgo.Return
		freed.EPHandle, r = cgo.EPCreate(a.IAHandle, kept.pz, kept.recv.EVDHandle, kept.request.EVDHandle, kept.connect.EVDHandle, endpointAttr())
		success(t, "EPCreate", r)
		ends, peers := []*endpoint{&freed, kept}, []*endpoint{a.newEndpoint(t), a.newEndpoint(t)}
		for i, e := range ends {
			accept(t, a.ask(t, l, peers[i]), e.EPHandle, peers[i], kept)
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

// The asynchronous queue outlives more errors than it holds: those are lost.
func TestFullAsyncQueue(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		async := queue{EVDHandle: a.async}
		length := int(async.length(t))
		evds := make([]cgo.EVDHandle, length+10)
		for i := range evds {
			evds[i] = a.fullQueue(t)
		}
		for _, evd := range evds[:length] {
			a.wantFull(t, evd)
		}
		async.empty(t)

		var event cgo.Event
		evd := evds[length]
		success(t, "EVDDequeue", cgo.EVDDequeue(evd, &event))
		fill(t, evd)
		a.wantFull(t, evd)
		async.empty(t)
	})
}

// fullQueue returns a queue for which a further event was lost.
func (a *adapter) fullQueue(t *testing.T) cgo.EVDHandle {
	t.Helper()
	evd := a.newEVD(t, 1, 0, cgo.EVDSoftware)
	fill(t, evd)
	return evd
}

func fill(t *testing.T, evd cgo.EVDHandle) {
	t.Helper()
	r := cgo.EVDPostSE(evd, cgo.EventSoftware, 0)
	for r.OK() {
		r = cgo.EVDPostSE(evd, cgo.EventSoftware, 0)
	}
	outcome(t, "EVDPostSE", r, cgo.QueueFull, cgo.NoSubtype)
}

func (a *adapter) wantFull(t *testing.T, evd cgo.EVDHandle) {
	t.Helper()
	event := queue{EVDHandle: a.async}.expect(t, cgo.EventAsyncErrorEVDOverflow)
	if of := event.AsyncError().Handle; of != uintptr(evd) {
		t.Fatalf("the queue %#x is full, want %#x", of, evd)
	}
}
