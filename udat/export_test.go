package udat

import (
	"sync/atomic"

	"github.com/goudat/goudat/cgo"
)

// Sleeps returns how many waits for the adapter's events have begun to sleep so far.
func Sleeps(ia *IA) uint64 { return ia.notifier.Sleeps() }

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

// HasShadow reports whether assertions watch the endpoint.
func HasShadow(ep *EP) bool { return ep.shadow != nil }

// ForceShadow makes the shadow of the endpoint believe in a state.
func ForceShadow(ep *EP, state EPState) {
	ep.shadow.Believe(cgo.EPState(state))
}

// CountUnmapped counts the regions whose memory goes back to the system.
func CountUnmapped() (unmapped func() int, restore func()) {
	var n atomic.Int64
	giveBack = func(mapping []byte) {
		n.Add(1)
		unmapMemory(mapping)
	}
	return func() int { return int(n.Load()) }, func() { giveBack = unmapMemory }
}

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
