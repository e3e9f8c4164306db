package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// wantLow expects the report that a queue has fewer receives than its low watermark.
func wantLow(t testing.TB, async queue, srq sharedQueue) {
	t.Helper()
	event := async.expect(t, cgo.EventAsyncErrorProviderInternalError)
	if of := event.AsyncError(); uintptr(of.Handle) != uintptr(srq.SRQHandle) || of.Reason != int32(cgo.SRQLowWatermarkEvent) {
		t.Fatalf("got the reason %d of %#x, want the watermark of %#x", of.Reason, of.Handle, srq.SRQHandle)
	}
}

func TestSRQSetLWRefuses(t *testing.T) {
	outcome(t, "SRQSetLW", cgo.SRQSetLW(0, 1), cgo.InvalidHandle, cgo.InvalidHandleSRQ)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		pz := a.newPZ(t)
		srq := a.newSRQ(t, pz)
		want := srq.query(t)
		for _, watermark := range []int32{-1, want.MaxRecvDTOs + 1} {
			outcome(t, "SRQSetLW", cgo.SRQSetLW(srq.SRQHandle, watermark), cgo.InvalidParameter, cgo.InvalidArg2)
			_, r := cgo.SRQCreate(a.IAHandle, pz, &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 1, LowWatermark: watermark})
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

// A queue reports once for each setting of its watermark that it has fewer receives: when an endpoint takes one, at once
// if it has fewer, and when completions show that it has none.
func TestSRQLowWatermark(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		async := a.newAsyncQueue(t)
		passive, srq := a.newSharing(t)
		active := a.newEndpoint(t)
		a.connect(t, a.listen(t), active, passive, nil)
		send := func(messages uint64) {
			t.Helper()
			for cookie := range messages {
				success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 8)}, cookie, cgo.CompletionDefault))
				active.request.completion(t, cgo.EventDTOCompletion, cookie)
			}
		}
		take := func(receives int) {
			t.Helper()
			for range receives {
				passive.recv.expect(t, cgo.EventDTOCompletion)
			}
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
		send(1)
		take(1)
		async.empty(t) // it says so once
		set(3)         // 2 are left
		wantLow(t, async, srq)
		send(1)
		take(1)
		async.empty(t)
		set(0)
		send(1)
		take(1)
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
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		async := a.newAsyncQueue(t)
		passive, srq := a.newSharing(t)
		active := a.newEndpoint(t)
		a.connect(t, a.listen(t), active, passive, nil)
		for round := range 200 {
			srq.fill(t, passive.memory, 0)
			success(t, "SRQSetLW", cgo.SRQSetLW(srq.SRQHandle, 4))
			for cookie := range uint64(8) {
				success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 8)}, cookie, cgo.CompletionDefault))
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
