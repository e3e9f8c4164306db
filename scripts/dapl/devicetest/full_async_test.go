package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// The asynchronous queue outlives more errors than it holds: those are lost.
func TestFullAsyncQueue(t *testing.T) {
	watch(t)
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
	evd, r := cgo.EVDCreate(a.IAHandle, 1, 0, cgo.EVDSoftware)
	success(t, "EVDCreate", r)
	t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(evd)) })
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
