package udat

import "slices"

// An EVD that gets more completions than it holds is dead, and the endpoints on it hang.
// So an operation takes room on the EVD when it is posted. The room is given back when
// the program has taken the completion, or when there will be none.
//
// Room is counted only on an EVD whose streams could have more operations outstanding than
// it holds. Counting begins and ends while all its directions are locked, so that the
// number of outstanding operations is known. Posts look at direction.uncountedLimit, and
// the code that takes completions looks at EVD.duties. Both do so in any case, so that
// an EVD that does not count costs nothing more.

// The bits of EVD.duties: what to do when an event is decoded or queued.
const (
	countRoom    uint8 = 1 << iota // room is counted
	boundBacklog                   // the backlog is bounded
)

// counts reports whether the EVD counts its room. That changes only with streams.mu held.
func (evd *EVD) counts() bool {
	evd.mu.Lock()
	defer evd.unlock()
	return evd.duties&countRoom != 0
}

// decideCounting begins or ends the counting, as the EVD's streams now need it. length is
// the length that the EVD will have, and further is how many software events it must hold
// beside those that are there. The caller holds streams.mu.
func (evd *EVD) decideCounting(length, further int) {
	evd.mu.Lock()
	softwareEvents, counts := int(evd.singles.Load())-evd.requests, evd.duties&countRoom != 0
	evd.unlock()
	limits, most := evd.streams.limits, min(length, evd.room.Native())
	if tight := limits > 0 && limits+softwareEvents+further > most; tight != counts {
		evd.setCounting(tight)
	}
}

// setCounting begins or ends the counting.
func (evd *EVD) setCounting(counting bool) {
	directions := evd.streams.ordered()
	for _, d := range directions {
		d.mu.Lock()
	}
	evd.mu.Lock()
	evd.drain()
	outstanding := 0
	for _, d := range directions {
		d.setCounting(counting)
		outstanding += int(d.outstanding()) + d.reservedRoom
	}
	evd.duties &^= countRoom
	if counting {
		evd.duties |= countRoom
		evd.room.Begin(outstanding, evd.backlog.len())
	}
	for srq := range evd.streams.shared {
		srq.setCounting(evd, counting)
	}
	evd.unlock()
	for _, d := range directions {
		if counting && !d.report() { // so that no suppressed operation keeps its room unnoticed
			evd.deferReport(d)
		}
		d.mu.Unlock()
	}
}

// deferReport notes a direction whose suppressed operations could not be reported when
// counting began: see report. The caller may hold the lock of the direction.
func (evd *EVD) deferReport(d *direction) {
	evd.mu.Lock()
	defer evd.unlock()
	evd.unreported = append(evd.unreported, d)
	evd.hasUnreported.Store(true)
}

// retryReports tries to report the operations of these directions now. The caller may hold
// the lock of a direction.
func (evd *EVD) retryReports() {
	evd.mu.Lock()
	unreported := evd.unreported
	evd.unreported = nil
	evd.hasUnreported.Store(false)
	evd.unlock()
	for _, d := range unreported {
		reported := false
		if d.mu.TryLock() {
			reported = d.report()
			d.mu.Unlock()
		}
		if !reported {
			evd.deferReport(d)
		}
	}
}

// overfull reports whether more completions may come to the library's queue than it holds.
// Only those of shared receives can that were posted before the EVD counted them.
func (evd *EVD) overfull() bool { return evd.counts() && evd.room.Overfull() }

// takeRoom takes room for an operation. If there is none, it takes the library's
// completions and tries again. Completions that the program does not see free room. If
// the library's queue is shorter than the EVD, completions that move to the backlog do,
// too. An endpoint keeps the EVD alive.
func (evd *EVD) takeRoom() bool {
	if evd.hasUnreported.Load() {
		evd.retryReports()
	}
	if evd.room.Take(1) {
		return true
	}
	evd.reap()
	return evd.room.Take(1)
}

// errNoRoom says that an operation has no room on an EVD.
func (evd *EVD) errNoRoom(op string) error {
	if native, length := evd.room.Native(), evd.length(); native < length && evd.room.Used() < length {
		return refuse(op, ErrInsufficientResources, ResourceTEVD,
			"the event dispatcher has room for %d completions, but only %d operations can be outstanding on it at the same time: take completions, or free its endpoints, call Resize, and create them again", length, native)
	}
	return refuse(op, ErrInsufficientResources, ResourceTEVD,
		"the event dispatcher has room for %d completions, and outstanding operations and completions that were not taken use all of it: take completions, or make it longer with Resize", evd.length())
}

// setCounting sets whether operations of the direction take room. The caller holds mu, and
// the EVD's lock if operations are outstanding.
func (d *direction) setCounting(counting bool) {
	d.counting = counting
	d.uncountedLimit, d.suppressedLimit = d.limit, d.limit/4
	if counting {
		d.uncountedLimit, d.suppressedLimit = 0, 0
	}
}

// admit reports whether an operation can be posted: the direction's queue must have a
// place and, if the EVD counts, the EVD must have room. admit takes the room; withdraw and
// giveRoom release it. The caller holds mu.
func (d *direction) admit() bool {
	if d.outstanding() >= d.limit && !d.reclaim() {
		return false
	}
	return !d.counting || d.evd.takeRoom()
}

// errFull returns the error of an operation that admit has refused.
func (d *direction) errFull(op string) error {
	if d.outstanding() >= d.limit {
		return refuse(op, ErrInsufficientResources, ResourceMemory, "all %d operations of the endpoint are outstanding: take completions, or raise EPAttr.MaxRecvDTOs or MaxRequestDTOs", d.limit)
	}
	return d.evd.errNoRoom(op)
}

// giveRoom releases the room of an operation that is not posted.
func (d *direction) giveRoom() {
	if d.counting {
		d.evd.room.Release(1)
	}
}

// reserveRoom takes room for receives of the former native endpoint, which will be posted
// again with another EVD.
func (d *direction) reserveRoom(op string, receives int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.counting && !d.evd.room.Take(receives) {
		return d.evd.errNoRoom(op)
	}
	d.reservedRoom = receives
	return nil
}

// takeOver takes over the receives of former, which will be posted again. If the EVD is the
// same, they keep their room. The caller holds mu of both.
func (d *direction) takeOver(former *direction) {
	receives := int(former.outstanding())
	switch {
	case former.evd == d.evd:
		d.reservedRoom = receives
	case former.counting:
		former.evd.room.Release(receives)
	}
	former.retired.Store(former.posted.Load())
}

// retires returns how many operations a completion with the given sequence bits retires.
func (d *direction) retires(sequence uint64) int {
	return int((sequence-d.retired.Load())&sequenceMask) + 1
}

// A receive of a shared queue may complete on the receive EVD of any of the queue's
// endpoints. So it takes room on each of these EVDs that counts. When it completes on one
// of them, its completion keeps room on that EVD alone.

// setCounting sets whether the receives of the queue take room on an EVD. Receives that
// are outstanding take room even if there is none. The caller holds the EVD's streams.mu.
func (srq *SRQ) setCounting(evd *EVD, counting bool) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	i := slices.Index(srq.counted, evd)
	switch {
	case counting && i < 0:
		srq.counted = append(srq.counted, evd)
		evd.room.Force(srq.outstanding())
	case !counting && i >= 0:
		srq.counted = slices.Delete(srq.counted, i, i+1)
		evd.room.Release(srq.outstanding())
	}
}

// outstanding returns how many receives have not completed. The caller holds mu.
func (srq *SRQ) outstanding() int { return len(srq.slots) - len(srq.unused) }

// takeRoom takes room for a receive on each EVD that counts, or returns one that
// has none. The caller holds mu.
func (srq *SRQ) takeRoom() (full *EVD) {
	for i, evd := range srq.counted {
		if !evd.room.Take(1) {
			giveRoom(srq.counted[:i])
			return evd
		}
	}
	return nil
}

func giveRoom(on []*EVD) {
	for _, evd := range on {
		evd.room.Release(1)
	}
}

// tidy moves the completions that the library has to the backlog, if the EVD is alive.
func (evd *EVD) tidy() {
	if evd.obj.enter("dat_evd_dequeue", NoSubtype) == nil {
		evd.reap()
		evd.obj.leave()
	}
}
