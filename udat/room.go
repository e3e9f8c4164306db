package udat

import "slices"

// Room on an EVD for completions is a matter of posting. The library has none to
// spare: an EVD for which more completions come than it holds is dead, and the
// endpoints on it hang. So each operation takes room when it is posted, which is
// back when the program has taken its completion, or when none is to come.
//
// That is counted on an EVD whose streams could have more outstanding than it
// holds, and on no other. Counting begins and ends with all directions locked, so that
// what is outstanding is known. A direction follows it with its field freely, the taking of completions with EVD.attention, both of which
// are looked at in any case.

// What needs attention when an event is decoded or queued.
const (
	attendCounting uint8 = 1 << iota // room is counted
	attendBacklog                    // the backlog is bounded
)

// counts reports whether the EVD counts its room. That changes with feeds.mu held.
func (evd *EVD) counts() bool {
	evd.mu.Lock()
	defer evd.unlock()
	return evd.attention&attendCounting != 0
}

// decideCounting has an EVD count its room, or not, as its streams now need it, where
// it is to have the given length and room for further software events. The caller
// holds feeds.mu.
func (evd *EVD) decideCounting(length, further int) {
	evd.mu.Lock()
	softwareEvents, counts := int(evd.capacity.used.Load())-evd.requests, evd.attention&attendCounting != 0
	evd.unlock()
	limits, most := evd.feeds.limits, min(length, evd.room.Native())
	if tight := limits > 0 && limits+softwareEvents+further > most; tight != counts {
		evd.setCounting(tight)
	}
}

// setCounting begins or ends the counting.
func (evd *EVD) setCounting(counting bool) {
	directions := evd.feeds.ordered()
	for _, d := range directions {
		d.mu.Lock()
	}
	evd.mu.Lock()
	evd.drain()
	outstanding := 0
	for _, d := range directions {
		d.setCounting(counting)
		outstanding += int(d.outstanding()) + d.prepaid
	}
	evd.attention &^= attendCounting
	if counting {
		evd.attention |= attendCounting
		evd.room.Begin(outstanding, evd.backlog.len())
	}
	for srq := range evd.feeds.shared {
		srq.setCounting(evd, counting)
	}
	evd.unlock()
	for _, d := range directions {
		d.mu.Unlock()
	}
	if counting {
		for _, d := range directions { // no suppressed operation keeps its room unnoticed
			d.mu.Lock()
			reported := d.report()
			d.mu.Unlock()
			if !reported {
				evd.reportLater(d)
			}
		}
	}
}

// reportLater has a direction report what it could not when counting began.
func (evd *EVD) reportLater(d *direction) {
	evd.mu.Lock()
	defer evd.unlock()
	evd.late = append(evd.late, d)
	evd.isLate.Store(true)
}

// reportLate makes up for that where it can now. The caller may hold a direction.
func (evd *EVD) reportLate() {
	evd.mu.Lock()
	late := evd.late
	evd.late = nil
	evd.isLate.Store(false)
	evd.unlock()
	for _, d := range late {
		reported := false
		if d.mu.TryLock() {
			reported = d.report()
			d.mu.Unlock()
		}
		if !reported {
			evd.reportLater(d)
		}
	}
}

// overfull reports whether more may come to the library's queue than that holds,
// which only shared receives do that were posted before.
func (evd *EVD) overfull() bool { return evd.counts() && evd.room.Overfull() }

// takeRoom takes room for an operation. If there is none it looks whether
// completions make some: those that the program does not see, and, where the
// library's queue is shorter than the EVD, those that move to the backlog. The
// EVD is kept alive by an endpoint.
func (evd *EVD) takeRoom() bool {
	if evd.isLate.Load() {
		evd.reportLate()
	}
	if evd.room.Take(1) {
		return true
	}
	evd.reap()
	return evd.room.Take(1)
}

// errNoRoom says that an operation has no room on an EVD.
func (evd *EVD) errNoRoom(op string) error {
	return refuse(op, ErrInsufficientResources, ResourceTEVD,
		"the event dispatcher holds %d completions, which operations that are outstanding and completions that were not taken fill: take completions, or make it longer with Resize", evd.room.Length())
}

// setCounting has operations of the direction take room, or not. The caller holds mu,
// and the EVD's lock if operations are outstanding.
func (d *direction) setCounting(counting bool) {
	d.counting = counting
	d.freely, d.quietly = d.limit, d.limit/4
	if counting {
		d.freely, d.quietly = 0, 0
	}
}

// admit takes what an operation needs: a place in the queue, and room on the EVD
// where that counts. withdraw or giveRoom give the room back. The caller holds mu.
func (d *direction) admit() bool {
	if d.outstanding() >= d.limit && !d.reclaim() {
		return false
	}
	return !d.counting || d.evd.takeRoom()
}

// errFull says which of what admit takes is missing.
func (d *direction) errFull(op string) error {
	if d.outstanding() >= d.limit {
		return refuse(op, ErrInsufficientResources, ResourceMemory, "all %d operations of the endpoint are outstanding: take completions, or raise EPAttr.MaxRecvDTOs or MaxRequestDTOs", d.limit)
	}
	return d.evd.errNoRoom(op)
}

// giveRoom gives back the room of an operation that is not posted.
func (d *direction) giveRoom() {
	if d.counting {
		d.evd.room.Release(1)
	}
}

// prepay takes room for the receives of former that are to be posted again on
// another EVD.
func (d *direction) prepay(op string, receives int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.counting && !d.evd.room.Take(receives) {
		return d.evd.errNoRoom(op)
	}
	d.prepaid = receives
	return nil
}

// succeed takes over the receives of former, which are posted again, with their room
// if that is on the same EVD.
func (d *direction) succeed(former *direction) {
	former.mu.Lock()
	defer former.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	receives := int(former.outstanding())
	switch {
	case former.evd == d.evd:
		d.prepaid = receives
	case former.counting:
		former.evd.room.Release(receives)
	}
	former.retired.Store(former.posted.Load())
}

// retires is how many operations a completion with the given sequence bits retires.
func (d *direction) retires(sequence uint64) int {
	return int((sequence-d.retired.Load())&sequenceMask) + 1
}

// A receive of a shared queue may complete on any receive EVD of the queue's
// endpoints, and so has room on each that counts its own. When it completes on
// one, its completion takes room there, and nothing on the others.

// setCounting has the receives of the queue take room on an EVD, those that are
// outstanding whether or not there is some, or not any more. The caller holds the
// EVD's feeds.mu.
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

// outstanding is how many receives have not completed. The caller holds mu.
func (srq *SRQ) outstanding() int { return len(srq.slots) - len(srq.free) }

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

// tidy takes from the library what completions are there, if the EVD is alive.
func (evd *EVD) tidy() {
	if evd.obj.enter("dat_evd_dequeue", NoSubtype) == nil {
		evd.reap()
		evd.obj.leave()
	}
}
