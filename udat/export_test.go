package udat

import (
	"sync"
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

// Lengthened returns the segment with a length that its region does not have.
func Lengthened(s Segment, bytes uint32) Segment {
	s.triplet.SegmentLength = bytes
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

// AssertionError is what SetAssertions' function gets.
type AssertionError = assertionError

// Object is anything that the package makes.
type Object = anyObject

// HasShadow reports whether assertions watch the endpoint.
func HasShadow(ep *EP) bool { return ep.shadow != nil }

// ForceShadow makes the shadow of the endpoint believe in a state.
func ForceShadow(ep *EP, state EPState) {
	ep.shadow.SetState(cgo.EPState(state))
}

// Endpoints returns how many endpoints have their events on the event dispatcher.
func Endpoints(evd *EVD) int {
	evd.queue.Lock()
	defer evd.queue.Unlock()
	return len(evd.endpoints)
}

// EndService does what Free does first: nobody takes the requests to the service point any more.
func EndService(psp *PSP) { psp.service.ia.removeObject(&psp.service) }

// PostedAtOnce returns how many requests the latest crossing for the endpoint was for.
func PostedAtOnce(ep *EP) int { return len(ep.request.posts) }

// CountUnmapped counts the regions whose memory goes back to the system.
func CountUnmapped() (unmapped func() int, restore func()) {
	var n atomic.Int64
	giveBack = func(mapping []byte) {
		n.Add(1)
		unmapMemory(mapping)
	}
	return func() int { return int(n.Load()) }, func() { giveBack = unmapMemory }
}

// HoldPost stands for a request that is in the library until returned is called.
func HoldPost(ep *EP) (returned func()) {
	ep.request.mu.Lock()
	return ep.request.mu.Unlock
}

// HoldChange is HoldPost for a call that changes the endpoint.
func HoldChange(ep *EP) (returned func()) {
	_ = ep.lockRequests("a call")
	return sync.OnceFunc(ep.unlockRequests)
}

// CreatePSPSlowly is CreatePSP, in which the library returns the handle after meanwhile has.
func CreatePSPSlowly(ia *IA, qual ConnQual, evd *EVD, meanwhile func()) (*PSP, error) {
	psp := &PSP{service{ia: ia, evd: evd, qual: qual}}
	psp.service.psp = psp
	return psp, psp.service.listen("dat_psp_create", "public service point", psp.Free, func() (cgo.Handle, cgo.Return) {
		defer meanwhile()
		handle, r := cgo.PSPCreate(ia.handle, uint64(qual), evd.queue.Handle(), cgo.PSPConsumer)
		return cgo.Handle(handle), r
	})
}

// Entered returns the error of a call on an object.
func Entered(o Object) error { return o.object().usable("a call", NoSubtype) }

// NativeHandle returns the handle that the library has for an object, of some kinds.
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
	}
	panic("what is that?")
}
