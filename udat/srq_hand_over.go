package udat

import (
	"slices"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/cookiering"
)

// The library loses the cookies of a shared receive queue whose receives complete
// out of posting order: see package cookiering. So receives are handed over to it
// along with posts that pass the places which must not be taken. A library with
// scripts/dapl/patches/0029-shared-receives.patch keeps its cookies apart, and does not
// mind.

// mostSpare bounds the places that a native queue has beyond its receives.
var mostSpare = 4096 // fewer in tests

// nativeLength returns the length of the native queue for as many receives. With
// places to spare, a receive must stay outstanding for long until its place has to
// be passed; without any, each post may have to pass some.
func nativeLength(receives, most int) int {
	const leastSpare = 255
	return min(receives+min(max(3*receives, leastSpare), mostSpare), most)
}

// createNativeSRQ makes the native queue, with fewer places to spare if the
// adapter has not as many.
func createNativeSRQ(ia *IA, pz *PZ, attr *SRQAttr) (cgo.SRQHandle, *cookiering.Ring, cgo.Return) {
	for length := nativeLength(attr.MaxRecvDTOs, ia.attr.MaxDTOPerEP); ; length = max(length/2, attr.MaxRecvDTOs) {
		native := cgo.SRQAttr{MaxRecvDTOs: int32(length), MaxRecvIOV: int32(attr.MaxRecvIOV), LowWatermark: cgo.SRQLWDefault}
		handle, r := cgo.SRQCreate(ia.handle, pz.handle, &native)
		if r.OK() {
			return handle, cookiering.New(length, attr.MaxRecvDTOs), r
		}
		if length == attr.MaxRecvDTOs {
			return 0, nil, r
		}
	}
}

// handOver posts a receive in the library, or lets it wait for the next completion
// if the ring of cookies looks full. There is one to come: the ring looks full only
// while others are outstanding. The caller holds mu.
func (srq *SRQ) handOver(op string, index uint32, iov []cgo.LMRTriplet) error {
	full := len(srq.waiting) > 0
	if !full {
		r := srq.postNative(index, iov)
		if full = looksFull(r) && srq.ring.Len() > 0; !full && !r.OK() {
			srq.broken = true
			return check(op, r)
		}
	}
	if full {
		s := &srq.slots[index]
		s.iov = append(s.iov[:0], iov...)
		s.number = 0
		srq.waiting = append(srq.waiting, index)
	}
	return nil
}

// handOverWaiting posts in the library what it takes of the receives that wait.
// The caller holds mu.
func (srq *SRQ) handOverWaiting() {
	for len(srq.waiting) > 0 && srq.handle != 0 && !srq.broken {
		index := srq.waiting[0]
		switch r := srq.postNative(index, srq.slots[index].iov); {
		case r.OK():
			srq.waiting = slices.Delete(srq.waiting, 0, 1)
		case looksFull(r) && srq.ring.Len() > 0:
			return
		default:
			srq.broken = true // which the next post reports
		}
	}
}

// postNative posts a receive in the library, in a place that is free. Afterwards
// it passes the places behind that are not, while there is a receive outstanding
// in front of them whose completion makes room, should one of them complete in
// between.
func (srq *SRQ) postNative(index uint32, iov []cgo.LMRTriplet) cgo.Return {
	if r := srq.pass(); !r.OK() {
		return r
	}
	r := cgo.SRQPostRecv(srq.handle, iov, srq.nativeCookie(index))
	if r.OK() {
		srq.ring.Post(int(index))
		srq.slots[index].number = srq.tracker.Post()
		srq.pass()
	}
	return r
}

// pass moves the library's ring on to a place that is free, by posts that the
// adapter refuses.
func (srq *SRQ) pass() cgo.Return {
	for {
		receive, occupied := srq.ring.Occupant()
		if !occupied {
			return 0
		}
		r := cgo.SRQPostRecv(srq.handle, tooManySegments[:], srq.nativeCookie(uint32(receive)))
		if looksFull(r) {
			return r
		}
		srq.ring.Pass()
	}
}

func (srq *SRQ) nativeCookie(index uint32) uint64 {
	return uint64(srq.number)<<numberShift | uint64(opSharedReceive)<<operationShift | uint64(index)
}

// tooManySegments are more than any adapter takes.
var tooManySegments [1024]cgo.LMRTriplet

// looksFull reports whether the library has refused a post for lack of a place, and has
// changed nothing.
func looksFull(r cgo.Return) bool {
	return r.Type() == cgo.InsufficientResources && r.Subtype() == cgo.ResourceMemory
}
