package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

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
	watch(t)
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
