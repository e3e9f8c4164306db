package udat

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/notify"
)

// AwaitWaiter returns once a goroutine waits on the EVD.
func AwaitWaiter(evd *EVD) { AwaitWaiters(evd, 1) }

// AwaitWaiters returns once n goroutines wait on the EVD.
func AwaitWaiters(evd *EVD, n int) {
	await(func() bool { return waitersOf(evd) >= n })
}

// AwaitNoWaiter returns once nobody waits on the EVD.
func AwaitNoWaiter(evd *EVD) { await(func() bool { return waitersOf(evd) == 0 }) }

func waitersOf(evd *EVD) int {
	return evd.queue.Waiters()
}

// AwaitCNOWaiters returns once n goroutines wait on the CNO, agents included.
func AwaitCNOWaiters(cno *CNO, n int) {
	await(func() bool { return CNOWaiters(cno) >= n })
}

func await(done func() bool) {
	for deadline := time.Now().Add(time.Minute); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			panic("what the test waits for does not happen")
		}
	}
}

// CNOWaiters returns how many goroutines wait on the CNO, agents included.
func CNOWaiters(cno *CNO) int { return cno.waiting.Waiters() }

// Forged returns the segment with a key that belongs to no region, which the
// checks before a post cannot see.
func Forged(s Segment) Segment {
	s.triplet.LMRContext ^= 0xff
	return s
}

// Pins returns the number of pieces of Go memory that are pinned.
func Pins() (n int) {
	pins.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}

// SetBusyWithin replaces the time for which the freeing of a busy EVD is tried again,
// until restore is called.
func SetBusyWithin(d time.Duration) (restore func()) {
	old := busyWithin
	busyWithin = d
	return func() { busyWithin = old }
}

// AllowSegments lets sends of the endpoint have more segments than it was made
// for, which the library refuses.
func AllowSegments(ep *EP, n int) {
	q := &ep.request
	q.mu.Lock()
	defer q.mu.Unlock()
	q.maxIOV = n
}

// AllowSharedSegments is AllowSegments for the receives of a shared queue.
func AllowSharedSegments(srq *SRQ, n int) {
	srq.queue.mu.Lock()
	defer srq.queue.mu.Unlock()
	srq.queue.maxIOV = n
}

// HasShadow reports whether assertions watch the endpoint.
func HasShadow(ep *EP) bool { return ep.shadow != nil }

// ForceShadow makes the shadow of the endpoint believe in a state.
func ForceShadow(ep *EP, state EPState) {
	ep.shadow.Believe(cgo.EPState(state))
}

// SpendSlice makes the latest timeslice of the process one that ended long ago.
func SpendSlice() { notify.SpendSlice() }

// SliceEnded reports whether a timeslice has ended since SpendSlice.
func SliceEnded() bool { return notify.SliceEnded() }

// CountUnmapped counts the regions whose memory goes back to the system.
func CountUnmapped() (unmapped func() int, restore func()) {
	var n atomic.Int64
	giveBack = func(mapping []byte) {
		n.Add(1)
		unmapMemory(mapping)
	}
	return func() int { return int(n.Load()) }, func() { giveBack = unmapMemory }
}

// BlockedIn returns how many goroutines wait in the library.
func BlockedIn(ia *IA) int { return ia.notifier.Blocking() }

// Armed reports whether the notifier is told of events.
func Armed(evd *EVD) bool { return evd.queue.Notifies() }

// NativeHandle returns the handle that the library has for an endpoint, an event dispatcher,
// a region, or a protection zone, or for an adapter.
func NativeHandle(o Object) cgo.Handle {
	switch o := o.(type) {
	case *IA:
		return cgo.Handle(o.handle)
	case *PZ:
		return cgo.Handle(o.handle)
	case *EP:
		return cgo.Handle(o.handle)
	case *EVD:
		return cgo.Handle(o.queue.Handle())
	case *LMR:
		return cgo.Handle(o.handle)
	}
	panic("what is that?")
}
