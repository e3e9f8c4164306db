package udat

// lookForLost frees the slots of receives that are lost: see package
// sharedreceives. The caller holds mu.
func (srq *SRQ) lookForLost() {
	// Once in as many completions as there are receives is often enough.
	srq.lookAt = srq.tracker.Completed() + uint64(len(srq.slots))
	first := srq.tracker.FirstHeld()
	for i := range srq.slots {
		if s := &srq.slots[i]; s.posted && s.number != 0 && s.number < first {
			srq.lost = append(srq.lost, s.cookie)
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
