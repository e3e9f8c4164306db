package devicetest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/goudat/goudat/cgo"
)

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
	segments := []cgo.LMRTriplet{m.local(0, 64)}
	for param := q.query(t); param.OutstandingDTOCount < param.MaxRecvDTOs; param.OutstandingDTOCount++ {
		last++
		success(t, "SRQPostRecv", cgo.SRQPostRecv(q.SRQHandle, segments, last))
	}
	outcome(t, "SRQPostRecv to a full queue", cgo.SRQPostRecv(q.SRQHandle, segments, last+1), cgo.InsufficientResources, cgo.ResourceMemory)
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

		active := a.newEndpoint(t)
		a.connect(t, a.listen(t), active, passive, nil)
		for cookie := uint64(1); cookie <= last; cookie++ {
			success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 8)}, cookie, cgo.CompletionDefault))
			active.request.completion(t, cgo.EventDTOCompletion, cookie)
			passive.recv.completion(t, cgo.EventDTOCompletion, cookie)
		}
	})
}

// A queue grows and shrinks while receives are posted, taken, and completed. Each completes once, in its order, and the
// queue takes as many as it is long.
func TestSRQResize(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		passive, srq := a.newSharing(t)
		active := a.newEndpoint(t)
		a.connect(t, a.listen(t), active, passive, nil)
		var posted, sent, taken uint64
		send := func() {
			t.Helper()
			sent++
			success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 8)}, sent, cgo.CompletionDefault))
			active.request.completion(t, cgo.EventDTOCompletion, sent)
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
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		passive, srq := a.newSharing(t)
		active := a.newEndpoint(t)
		a.connect(t, a.listen(t), active, passive, nil)
		const receives, messages = 8, 3000
		segments := []cgo.LMRTriplet{passive.memory.local(0, 64)}
		for cookie := range uint64(receives) {
			success(t, "SRQPostRecv", cgo.SRQPostRecv(srq.SRQHandle, segments, cookie))
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
			success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 8)}, cookie, cgo.CompletionDefault))
			active.request.completion(t, cgo.EventDTOCompletion, cookie)
			passive.recv.completion(t, cgo.EventDTOCompletion, cookie)
			success(t, "SRQPostRecv", cgo.SRQPostRecv(srq.SRQHandle, segments, cookie+receives))
		}
	})
}
