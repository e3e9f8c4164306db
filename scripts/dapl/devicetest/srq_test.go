package devicetest

import (
	"bytes"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/goudat/goudat/cgo"
)

type sharedQueue struct{ cgo.SRQHandle }

func (a *adapter) newSRQ(t testing.TB, pz cgo.PZHandle) sharedQueue {
	t.Helper()
	return a.newLongSRQ(t, pz, 8)
}

func (a *adapter) newLongSRQ(t testing.TB, pz cgo.PZHandle, length int32) sharedQueue {
	t.Helper()
	srq := sharedQueue{a.createSRQ(t, pz, length)}
	t.Cleanup(func() { success(t, "SRQFree", cgo.SRQFree(srq.SRQHandle)) })
	return srq
}

// post posts a receive into the beginning of memory.
func (q sharedQueue) post(m *memory, cookie uint64) cgo.Return {
	return cgo.SRQPostRecv(q.SRQHandle, []cgo.LMRTriplet{m.local(0, 64)}, cookie)
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
		want := cgo.SRQParam{IAHandle: a.IAHandle, SRQState: cgo.SRQStateOperational, PZHandle: pz, MaxRecvDTOs: 8, MaxRecvIOV: 2}
		srq.want(t, want)
		success(t, "SRQPostRecv", srq.post(m, 1))
		want.OutstandingDTOCount = 1
		want.AvailableDTOCount = cgo.ValueUnknown // an endpoint may have taken it
		srq.want(t, want)
	})
}

// newSharing makes an endpoint that takes its receives from a shared queue.
func (a *adapter) newSharing(t testing.TB) (e *endpoint, srq sharedQueue) {
	t.Helper()
	pz := a.newPZ(t)
	srq = a.newSRQ(t, pz)
	return a.makeEndpoint(t, parts{pz: pz, srq: srq.SRQHandle}), srq
}

func TestSharedQueueRefuses(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		e, srq := a.newSharing(t)
		outcome(t, "SRQFree", cgo.SRQFree(srq.SRQHandle), cgo.InvalidState, cgo.InvalidStateSRQInUse)
		outcome(t, "EPPostRecv", cgo.EPPostRecv(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 64)}, 1, cgo.CompletionDefault),
			cgo.InvalidState, cgo.InvalidStateSRQInUse)
		ep, r := cgo.EPCreateWithSRQ(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, 0, endpointAttr())
		outcome(t, "EPCreateWithSRQ", r, cgo.InvalidHandle, cgo.InvalidHandleSRQ)
		if ep != 0 {
			t.Errorf("EPCreateWithSRQ gave the handle %#x though it failed", ep)
		}

		outcome(t, "SRQSetLW", cgo.SRQSetLW(0, 1), cgo.InvalidHandle, cgo.InvalidHandleSRQ)
		want := srq.query(t)
		for _, watermark := range []int32{-1, want.MaxRecvDTOs + 1} {
			outcome(t, "SRQSetLW", cgo.SRQSetLW(srq.SRQHandle, watermark), cgo.InvalidParameter, cgo.InvalidArg2)
			_, r := cgo.SRQCreate(a.IAHandle, e.pz, &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 1, LowWatermark: watermark})
			outcome(t, "SRQCreate", r, cgo.InvalidParameter, cgo.InvalidArg3)
		}
		srq.want(t, want)
		success(t, "SRQSetLW", cgo.SRQSetLW(srq.SRQHandle, 5))
		want.LowWatermark = 5
		srq.want(t, want)
		outcome(t, "SRQResize below the watermark", cgo.SRQResize(srq.SRQHandle, 4), cgo.InvalidState, cgo.NoSubtype)
		srq.resize(t, a, 5)
		queue{EVDHandle: a.async}.drain(t)
	})
}

// A receive keeps its cookie until its completion is taken, while others of the queue come and go.
func TestSharedReceiveKeepsCookie(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		first, srq := a.newSharing(t)
		second := a.makeEndpoint(t, parts{pz: first.pz, srq: srq.SRQHandle})
		toFirst, toSecond := a.newPeer(t, first), a.newPeer(t, second)
		send := func(peer *endpoint, cookie uint64) {
			success(t, "SRQPostRecv", srq.post(first.memory, cookie))
			peer.deliver(t, cookie)
		}
		send(toFirst, 100)
		for cookie := range uint64(srq.query(t).MaxRecvDTOs) {
			send(toSecond, cookie)
			second.recv.completion(t, cgo.EventDTOCompletion, cookie)
		}
		first.recv.completion(t, cgo.EventDTOCompletion, 100)
	})
}

// newBeside makes an endpoint on the EVDs and the shared queue of another, which the caller frees, and connects a peer.
func (a *adapter) newBeside(t *testing.T, l *listener, kept *endpoint, srq cgo.SRQHandle) (e, peer *endpoint) {
	t.Helper()
	other := *kept
	other.EPHandle = a.createEP(t, kept.pz, kept.recv.EVDHandle, kept.request.EVDHandle, kept.connect.EVDHandle, srq)
	peer = a.newEndpoint(t)
	accept(t, a.ask(t, l, peer), other.EPHandle, peer, kept)
	return &other, peer
}

// The completion of a shared receive names the endpoint that has received, also if endpoints share the EVD. What an
// endpoint has received is dropped with it, and its place in the queue is free again.
func TestSharedReceiveNamesEndpoint(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		kept, shared := a.newSharing(t)
		l, keptPeer := a.listen(t), a.newEndpoint(t)
		a.connect(t, l, keptPeer, kept)
		for range 10 {
			other, peer := a.newBeside(t, l, kept, shared.SRQHandle)
			ends, peers := []*endpoint{kept, other}, []*endpoint{keptPeer, peer}
			send := func(i, cookie uint64) {
				success(t, "SRQPostRecv", shared.post(kept.memory, cookie))
				peers[i].deliver(t, cookie)
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
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const receives, size = 2, 4 << 20
		pz := a.newPZ(t)
		srq := a.newLongSRQ(t, pz, receives).SRQHandle
		kept := a.makeEndpoint(t, parts{pz: pz, srq: srq})
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
			for event := (cgo.Event{}); cgo.EVDDequeue(kept.recv.EVDHandle, &event).OK(); {
				again(event)
			}
		}
		l, steady := a.listen(t), a.newEndpoint(t)
		a.connect(t, l, steady, kept)
		for range 8 {
			other, peer := a.newBeside(t, l, kept, srq)
			long := a.newLongMemory(t, peer.pz, size)
			success(t, "EPPostSend", cgo.EPPostSend(peer.EPHandle, []cgo.LMRTriplet{long.local(0, size)}, 1, cgo.CompletionDefault))
			disconnect(t, peer, other)
			drain()
			success(t, "EPFree", cgo.EPFree(other.EPHandle))

			steady.deliver(t, 2)
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
	do(t, err)
	return bytes.Count(maps, []byte("/dev/infiniband/uverbs"))
}

// A shared queue keeps its protection zone. An adapter that is closed abruptly takes its shared queues along.
func TestSharedQueueAbruptClose(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		before := deviceMemory(t)
		again := a.openAgain(t)
		pz, evd, connect := again.createPZ(t), again.createEVD(t, 8, 0, cgo.EVDDTO), again.createEVD(t, 8, 0, cgo.EVDConnection)
		for range 2 {
			srq := again.createSRQ(t, pz, 8)
			outcome(t, "PZFree", cgo.PZFree(pz), cgo.InvalidState, cgo.InvalidStatePZInUse)
			again.createEP(t, pz, evd, evd, connect, srq)
		}
		if deviceMemory(t) == before {
			t.Logf("not tested: the queues of %s are no memory of the device", a.device)
		}
		success(t, "IAClose", cgo.IAClose(again.IAHandle, cgo.CloseAbrupt))
		if after := deviceMemory(t); after != before {
			t.Errorf("%d pieces of the device's memory are left", after-before)
		}
	})
}

// resize changes the length of a queue, which soft-iWARP's driver cannot.
func (q sharedQueue) resize(t testing.TB, a *adapter, length int32) {
	t.Helper()
	want := q.query(t)
	r := cgo.SRQResize(q.SRQHandle, length)
	if a.iwarp {
		outcome(t, "SRQResize", r, cgo.ModelNotSupported, cgo.NoSubtype)
	} else {
		success(t, "SRQResize", r)
		want.MaxRecvDTOs = length
	}
	q.want(t, want)
}

// fill posts as many receives as a queue takes. Their cookies follow those of the last ones.
func (q sharedQueue) fill(t testing.TB, m *memory, last uint64) uint64 {
	t.Helper()
	for param := q.query(t); param.OutstandingDTOCount < param.MaxRecvDTOs; param.OutstandingDTOCount++ {
		last++
		success(t, "SRQPostRecv", q.post(m, last))
	}
	outcome(t, "SRQPostRecv to a full queue", q.post(m, last+1), cgo.InsufficientResources, cgo.ResourceMemory)
	return last
}

func TestSRQResizeRefuses(t *testing.T) {
	outcome(t, "SRQResize", cgo.SRQResize(0, 8), cgo.InvalidHandle, cgo.InvalidHandleSRQ)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		passive, srq := a.newSharing(t)
		last := srq.fill(t, passive.memory, 0)
		want := srq.query(t)
		for _, length := range []int32{0, -1} {
			outcome(t, "SRQResize to nothing", cgo.SRQResize(srq.SRQHandle, length), cgo.InvalidParameter, cgo.InvalidArg2)
		}
		outcome(t, "SRQResize to less than is outstanding", cgo.SRQResize(srq.SRQHandle, 7), cgo.InvalidState, cgo.NoSubtype)
		if r := cgo.SRQResize(srq.SRQHandle, 1<<21); r.OK() {
			t.Error("a queue grows beyond what the device has")
		}
		srq.want(t, want)

		active := a.newPeer(t, passive)
		for cookie := uint64(1); cookie <= last; cookie++ {
			active.deliver(t, cookie)
			passive.recv.completion(t, cgo.EventDTOCompletion, cookie)
		}
	})
}

// A queue grows and shrinks while receives are posted, taken, and completed. Each completes once, in its order, and the
// queue takes as many as it is long.
func TestSRQResize(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		passive, srq := a.newSharing(t)
		active := a.newPeer(t, passive)
		var posted, sent, taken uint64
		send := func() {
			t.Helper()
			sent++
			active.deliver(t, sent)
		}
		take := func() {
			t.Helper()
			if sent == taken {
				send()
			}
			taken++
			passive.recv.completion(t, cgo.EventDTOCompletion, taken)
		}
		for _, length := range []int32{9, 40, 3, 17, 60, 4, 8, 8} {
			posted = srq.fill(t, passive.memory, posted)
			for range 2 {
				send() // its receive completes, and is not taken
			}
			for posted-taken > uint64(length) {
				take()
			}
			srq.resize(t, a, length)
			posted = srq.fill(t, passive.memory, posted)
			for posted-taken > 2 {
				take()
			}
			send()
		}
	})
}

// A queue is resized beside posts and completions, and loses none.
func TestSRQResizeBesidePosts(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		passive, srq := a.newSharing(t)
		active := a.newPeer(t, passive)
		const receives, messages = 8, 3000
		for cookie := range uint64(receives) {
			success(t, "SRQPostRecv", srq.post(passive.memory, cookie))
		}
		var ended atomic.Bool
		var resizes sync.WaitGroup
		defer resizes.Wait()
		defer ended.Store(true)
		resizes.Add(1)
		go func() {
			defer resizes.Done()
			for length := int32(receives); !ended.Load(); length = receives + (length+23)%100 {
				if r := cgo.SRQResize(srq.SRQHandle, length); !r.OK() && r.Type() != cgo.ModelNotSupported {
					t.Errorf("SRQResize returned %v", r)
					return
				}
			}
		}()
		for cookie := range uint64(messages) {
			active.deliver(t, cookie)
			passive.recv.completion(t, cgo.EventDTOCompletion, cookie)
			success(t, "SRQPostRecv", srq.post(passive.memory, cookie+receives))
		}
	})
}

// wantLow expects the report that a queue has fewer receives than its low watermark.
func wantLow(t testing.TB, async queue, srq sharedQueue) {
	t.Helper()
	event := async.expect(t, cgo.EventAsyncErrorProviderInternalError)
	if of := event.AsyncError(); uintptr(of.Handle) != uintptr(srq.SRQHandle) || of.Reason != int32(cgo.SRQLowWatermarkEvent) {
		t.Fatalf("got the reason %d of %#x, want the watermark of %#x", of.Reason, of.Handle, srq.SRQHandle)
	}
}

// A queue reports once for each setting of its watermark that it has fewer receives: when an endpoint takes one, at once
// if it has fewer, and when completions show that it has none.
func TestSRQLowWatermark(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		async := a.newAsyncQueue(t)
		passive, srq := a.newSharing(t)
		active := a.newPeer(t, passive)
		send := func(messages uint64) {
			t.Helper()
			for cookie := range messages {
				active.deliver(t, cookie)
			}
		}
		take := func(receives int) {
			t.Helper()
			passive.recv.take(t, receives)
		}
		sendAndTake := func() {
			t.Helper()
			send(1)
			take(1)
		}
		set := func(watermark int32) {
			t.Helper()
			success(t, "SRQSetLW", cgo.SRQSetLW(srq.SRQHandle, watermark))
		}

		srq.fill(t, passive.memory, 0) // 8
		set(4)
		async.empty(t)
		send(4)
		take(4)
		async.empty(t) // 4 are left
		send(1)
		wantLow(t, async, srq)
		take(1)
		sendAndTake()
		async.empty(t) // it says so once
		set(3)         // 2 are left
		wantLow(t, async, srq)
		sendAndTake()
		async.empty(t)
		set(0)
		sendAndTake()
		async.empty(t)

		srq.fill(t, passive.memory, 0)
		send(8) // none are left, and their completions are not taken
		set(2)
		take(6)
		async.empty(t)
		take(1)
		wantLow(t, async, srq)
		take(1)

		// One that is set when the queue is created is reached at once, and an event goes with its queue.
		low, r := cgo.SRQCreate(a.IAHandle, passive.pz, &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 1, LowWatermark: 1})
		success(t, "SRQCreate", r)
		wantLow(t, async, sharedQueue{low})
		success(t, "SRQSetLW", cgo.SRQSetLW(low, 1))
		success(t, "SRQFree", cgo.SRQFree(low))
		async.empty(t)
	})
}

// While receives are posted, taken and completed, each setting of the watermark is reported once.
func TestSRQLowWatermarkBesidePosts(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		async := a.newAsyncQueue(t)
		passive, srq := a.newSharing(t)
		active := a.newPeer(t, passive)
		for round := range 200 {
			srq.fill(t, passive.memory, 0)
			success(t, "SRQSetLW", cgo.SRQSetLW(srq.SRQHandle, 4))
			for cookie := range uint64(8) {
				active.send(t, cookie, cgo.CompletionDefault)
				if round%2 == 0 {
					passive.recv.expect(t, cgo.EventDTOCompletion)
				}
			}
			for cookie := range uint64(8) {
				active.request.completion(t, cgo.EventDTOCompletion, cookie)
				if round%2 == 1 {
					passive.recv.expect(t, cgo.EventDTOCompletion)
				}
			}
			wantLow(t, async, srq)
			async.empty(t)
		}
	})
}
