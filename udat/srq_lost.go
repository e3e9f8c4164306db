package udat

import "github.com/goudat/goudat/cgo"

// placesForLost is how many places a native queue has beyond its receives: one that is
// lost keeps its place in the library for good.
const placesForLost = 256

// createNativeSRQ makes the native queue, without places for lost receives if the adapter
// has not as many.
func createNativeSRQ(ia *IA, pz *PZ, attr *SRQAttr) (cgo.SRQHandle, cgo.Return) {
	native := cgo.SRQAttr{MaxRecvIOV: int32(attr.MaxRecvIOV), LowWatermark: cgo.SRQLWDefault}
	native.MaxRecvDTOs = nativeReceives(ia, attr.MaxRecvDTOs)
	if handle, r := cgo.SRQCreate(ia.handle, pz.handle, &native); r.OK() {
		return handle, r
	}
	native.MaxRecvDTOs = int32(attr.MaxRecvDTOs)
	return cgo.SRQCreate(ia.handle, pz.handle, &native)
}

// nativeReceives returns how many receives the library's queue takes, so that it has places for those that are lost.
func nativeReceives(ia *IA, maxRecvDTOs int) int32 {
	return int32(min(maxRecvDTOs+placesForLost, ia.attr.MaxDTOPerEP))
}

// lookForLost frees the slots of receives that are lost: see package
// sharedreceives. The caller holds mu.
func (srq *SRQ) lookForLost() {
	// Once in as many completions as there are receives is often enough.
	srq.lookAt = srq.tracker.Completed() + uint64(len(srq.slots))
	first := srq.tracker.FirstHeld()
	for i := range srq.slots {
		if s := &srq.slots[i]; s.posted && s.number < first {
			srq.lost = append(srq.lost, s.cookie)
			srq.everLost++
			srq.forget(uint32(i))
		}
	}
}

// takeLost returns the completion of a receive that was lost.
func (srq *SRQ) takeLost() (event Event, ok bool) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	if len(srq.lost) == 0 {
		return Event{}, false
	}
	cookie := srq.lost[0]
	srq.lost = srq.lost[1:]
	return Event{Number: EventDTOCompletion, Cookie: cookie, Operation: DTOReceive, Status: DTOErrFlushed}, true
}
