package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

func (q queue) query(t testing.TB) (param cgo.EVDParam) {
	t.Helper()
	success(t, "EVDQuery", cgo.EVDQuery(q.EVDHandle, cgo.EVDFieldAll, &param))
	return param
}

func (q queue) length(t testing.TB) int32 {
	t.Helper()
	return q.query(t).QLen
}

// post posts n software events with the numbers from the first one on.
func (q queue) post(t testing.TB, first, n uint64) {
	t.Helper()
	for i := first; i < first+n; i++ {
		success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, i))
	}
}

func TestEVDQuery(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q, other := a.newQueue(t, cgo.EVDConnection), a.newQueue(t, cgo.EVDConnection)
		want := cgo.EVDParam{
			IAHandle:  a.IAHandle,
			QLen:      queueLength,
			State:     cgo.EVDStateEnabled | cgo.EVDStateWaitable,
			CNOHandle: q.cno,
			Flags:     cgo.EVDConnection,
		}
		same(t, "got the parameters", q.query(t), want)
		success(t, "EVDDisable", cgo.EVDDisable(q.EVDHandle))
		check(t, q.query(t).State&cgo.EVDStateDisabled != 0, "an EVD that is disabled does not say so")
		success(t, "EVDEnable", cgo.EVDEnable(q.EVDHandle))
		for _, cno := range []cgo.CNOHandle{0, other.cno, q.cno} {
			success(t, "EVDModifyCNO", cgo.EVDModifyCNO(q.EVDHandle, cno))
			same(t, "the EVD has the CNO", q.query(t).CNOHandle, cno)
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
				q.post(t, 7, uint64(posted))
				events := make([]cgo.Event, 4)
				n, r := dequeue(events)
				outcome(t, name, r, cgo.QueueEmpty, cgo.NoSubtype)
				check(t, n == posted, "%s took %d events, want %d", name, n, posted)
				for i, e := range events[:n] {
					check(t, e.Number == cgo.EventSoftware && e.Software().Pointer == uintptr(7+i), "%s took %+v", name, e)
				}
			}
		}
		for _, flags := range []cgo.EVDFlags{cgo.EVDDTO, cgo.EVDCR, cgo.EVDConnection, cgo.EVDSoftware} {
			q, event := a.newQueue(t, flags), cgo.Event{Number: cgo.EventSoftware}
			outcome(t, "EVDDequeue", cgo.EVDDequeue(q.EVDHandle, &event), cgo.QueueEmpty, cgo.NoSubtype)
			check(t, event == (cgo.Event{}), "EVDDequeue leaves %+v", event)
			n, r := cgo.EVDDequeueBatch(q.EVDHandle, make([]cgo.Event, 4))
			check(t, n == 0 && r.Type() == cgo.QueueEmpty, "EVDDequeueBatch took %d events of an empty EVD: %v", n, r)
		}
	})
}

func TestCNO(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDConnection)
		evd, r := cgo.CNOWait(q.cno, 0)
		outcome(t, "CNOWait", r, cgo.QueueEmpty, cgo.NoSubtype)
		check(t, evd == 0, "CNOWait named the EVD %#x though nothing came", evd)
		success(t, "CNOModifyAgent", cgo.CNOModifyAgent(q.cno, 0, 0))
		var param cgo.CNOParam
		success(t, "CNOQuery", cgo.CNOQuery(q.cno, cgo.CNOFieldAll, &param))
		same(t, "the parameters", param, cgo.CNOParam{IAHandle: a.IAHandle, ProxyType: cgo.ProxyTypeAgent})
		outcome(t, "CNOFree", cgo.CNOFree(q.cno), cgo.InvalidState, cgo.InvalidStateCNOInUse)
	})
}

// Software events are taken one by one, and waited for as long as they may be.
func TestEVDPostSE(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q, plain := a.newQueue(t, cgo.EVDSoftware), a.newQueue(t, cgo.EVDConnection)
		outcome(t, "EVDPostSE of another number", cgo.EVDPostSE(q.EVDHandle, cgo.EventDTOCompletion, 1), cgo.InvalidParameter, cgo.InvalidArg2)
		outcome(t, "EVDPostSE", cgo.EVDPostSE(plain.EVDHandle, cgo.EventSoftware, 1), cgo.InvalidParameter, cgo.InvalidArg1)

		const first = 0xfeedfacecafebeef
		q.post(t, first, 2)
		event := q.expect(t, cgo.EventSoftware)
		same(t, "the event", event.Data[0], first)
		same(t, "its EVD", event.EVD, q.EVDHandle)
		more := must(cgo.EVDWait(q.EVDHandle, 0, 1, &event))(t)
		check(t, event.Data[0] == first+1 && more == 0, "EVDWait gave %#x and %d more, want %#x and none", event.Data[0], more, uint64(first+1))

		const millisecond = 1000
		_, r := cgo.EVDWait(q.EVDHandle, millisecond, 1, &event)
		outcome(t, "EVDWait", r, cgo.TimeoutExpired, cgo.NoSubtype)
		success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, 1))
		more, r = cgo.EVDWait(q.EVDHandle, millisecond, 2, &event)
		outcome(t, "EVDWait for two events", r, cgo.TimeoutExpired, cgo.NoSubtype)
		check(t, more == 1, "EVDWait for two events says that %d are queued, want 1", more)

		success(t, "EVDSetUnwaitable", cgo.EVDSetUnwaitable(q.EVDHandle))
		_, r = cgo.EVDWait(q.EVDHandle, millisecond, 1, &event)
		outcome(t, "EVDWait", r, cgo.InvalidState, cgo.InvalidStateEVDUnwaitable)
		success(t, "EVDClearUnwaitable", cgo.EVDClearUnwaitable(q.EVDHandle))
		must(cgo.EVDWait(q.EVDHandle, millisecond, 1, &event))(t)
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

// The events of a queue keep their order in each length, which it has room for. A refused resize changes nothing.
func TestEVDResize(t *testing.T) {
	outcome(t, "EVDResize(0)", cgo.EVDResize(0, 8), cgo.InvalidHandle, cgo.InvalidHandleEVDRequest)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDSoftware)
		for _, length := range []int32{0, -1, 1 << 30} {
			same(t, "EVDResize to a bad length", cgo.EVDResize(q.EVDHandle, length).Type(), cgo.InvalidParameter)
		}
		q.post(t, 0, 4)
		same(t, "EVDResize to less than there is", cgo.EVDResize(q.EVDHandle, 3).Type(), cgo.InvalidState)
		same(t, "a refused resize leaves the length", q.length(t), queueLength)
		q.waitSoftware(t, 4)
		for _, length := range []int32{3, 4, 100, 7, 65, 8} {
			q.post(t, 0, 3)
			success(t, "EVDResize", cgo.EVDResize(q.EVDHandle, length))
			same(t, "the length", q.length(t), length)
			q.post(t, 3, uint64(length-3))
			q.waitSoftware(t, length)
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
		const window = 8
		for round := range int32(20) {
			for cookie := range uint64(window) {
				passive.postRecv(t, cookie)
			}
			resize(200 + round)
			for cookie := range uint64(window) {
				active.send(t, cookie, cgo.CompletionDefault)
				if cookie == window/2 {
					resize(300 + round)
				}
			}
			var event cgo.Event
			more, r := cgo.EVDWait(passive.recv.EVDHandle, cgo.TimeoutInfinite, 3, &event) // puts them into the queue
			success(t, "EVDWait", r)
			check(t, more >= 2 && event.DTO().UserCookie == 0, "got the receive %d, and %d more", event.DTO().UserCookie, more)
			resize(40 + round)
			check(t, !cgo.EVDResize(passive.recv.EVDHandle, 1).OK(), "a queue shrinks below what it has")
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

// smallPair connects an endpoint whose short receive EVD is full of software events, and has room for all completions besides.
func (a *adapter) smallPair(t *testing.T) (active, passive *endpoint) {
	t.Helper()
	evd := a.newEVD(t, 8, 0, cgo.EVDDTO|cgo.EVDSoftware)
	attr := endpointAttr()
	attr.MaxRecvDTOs = queue{EVDHandle: evd}.length(t)
	passive = a.makeEndpoint(t, parts{recv: evd, attr: attr})
	active = a.newPeer(t, passive)
	passive.recv.post(t, 0, uint64(attr.MaxRecvDTOs))
	return active, passive
}

// waitSoftware waits until the EVD is full, and takes the software events.
func (q queue) waitSoftware(t *testing.T, length int32) {
	t.Helper()
	var event cgo.Event
	must(cgo.EVDWait(q.EVDHandle, cgo.TimeoutInfinite, length, &event))(t)
	for i := range length {
		if i > 0 {
			success(t, "EVDDequeue", cgo.EVDDequeue(q.EVDHandle, &event))
		}
		check(t, event.Number == cgo.EventSoftware && event.Data[0] == uint64(i), "got the event %v, want software event %d", event.Number, i)
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
			passive.recv.wantFlushed(t, cookie)
		}
		passive.recv.empty(t)
	})
}

// An endpoint leaves no events behind, and those of others that share its EVDs stay.
func TestFreedEndpointLeavesNoEvents(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, kept := a.listen(t), a.newEndpoint(t)
		freed := *kept
		freed.EPHandle = must(cgo.EPCreate(a.IAHandle, kept.pz, kept.recv.EVDHandle, kept.request.EVDHandle, kept.connect.EVDHandle, endpointAttr()))(t)
		ends, peers := []*endpoint{&freed, kept}, []*endpoint{a.newEndpoint(t), a.newEndpoint(t)}
		for i, e := range ends {
			accept(t, a.ask(t, l, peers[i]), e.EPHandle, peers[i], kept)
		}
		for i, e := range ends {
			peers[i].postRecv(t, 1)
			e.send(t, uint64(10+i), cgo.CompletionDefault)
			peers[i].recv.completion(t, cgo.EventDTOCompletion, 1)
			e.postRecv(t, uint64(20+i))
			e.end(t, cgo.CloseAbrupt) // flushes the receive
			peers[i].connect.expect(t, cgo.EventConnectionDisconnected)
		}
		success(t, "EPFree", cgo.EPFree(freed.EPHandle))
		event := kept.connect.expect(t, cgo.EventConnectionDisconnected) // that of the other has gone with it
		same(t, "the endpoint of the event", event.Connection().EPHandle, kept.EPHandle)
		kept.request.completion(t, cgo.EventDTOCompletion, 11)
		kept.recv.expectFlushed(t, 21)
		for _, q := range []queue{kept.connect, kept.request, kept.recv} {
			q.empty(t)
		}
	})
}

// That an EVD is full is reported once until there is room again: a peer's requests could fill the queue of reports.
func TestFullQueueIsReportedOnce(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q, async := a.newQueue(t, cgo.EVDSoftware), queue{EVDHandle: a.async}
		for range 3 {
			q.post(t, 0, queueLength)
			for range 100 {
				outcome(t, "EVDPostSE to a full queue", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, 1), cgo.QueueFull, cgo.NoSubtype)
			}
			a.wantFull(t, q.EVDHandle)
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
			evds[i] = a.newEVD(t, 1, 0, cgo.EVDSoftware)
			fill(t, evds[i])
		}
		for _, evd := range evds[:length] {
			a.wantFull(t, evd)
		}
		async.empty(t)

		evd := evds[length]
		dequeue(t, evd)
		fill(t, evd)
		a.wantFull(t, evd)
		async.empty(t)
	})
}

// fill posts until an event is lost.
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
	of := event.AsyncError().Handle
	check(t, of == uintptr(evd), "the queue %#x is full, want %#x", of, evd)
}
