package udat

import "runtime"

// A direction of an endpoint counts what it has outstanding while its EVD does.

// admit takes what an operation needs: a place in the queue, and room on the EVD
// where that counts. withdraw or giveRoom give the room back. The caller holds mu.
func (d *direction) admit() bool {
	switch {
	case d.outstanding() >= d.limit && !d.reclaim():
		return false
	case d.prepaid > 0:
		d.prepaid--
		return true
	}
	return d.epoch == 0 || d.evd.takeRoom(d.epoch)
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
	if d.epoch != 0 {
		d.evd.room.tally.add(d.epoch, -1)
	}
}

// endRoom gives back the room of what is outstanding, but for the part that
// stays. It returns the epoch in which that has its room. The caller holds mu, and
// no completion of the direction can come.
func (d *direction) endRoom(stays int) epoch {
	had := d.epoch
	if had != 0 {
		d.evd.room.tally.add(had, stays-d.prepaid-int(d.outstanding()))
	}
	d.epoch, d.prepaid = 0, 0
	return had
}

// beginRoom counts n operations that are to be posted again, if the EVD counts,
// unless they have their room since the given epoch. The caller holds mu.
func (d *direction) beginRoom(n int, since epoch) {
	d.freely, d.quietly = d.limit, d.limit/4
	if d.evd == nil || d.shared {
		return
	}
	d.evd.mu.Lock()
	defer d.evd.unlock()
	if d.count(n, since) {
		d.prepaid = n
	}
}

// followRoom counts what is outstanding if the EVD counts. The caller holds mu.
func (d *direction) followRoom() {
	d.evd.mu.Lock()
	defer d.evd.unlock()
	d.freely, d.quietly = d.limit, d.limit/4
	d.count(d.prepaid+int(d.outstanding()), d.epoch)
}

// count counts n operations in the EVD's epoch, unless that is the given one, in
// which they count. It reports false when the EVD does not count. The caller holds
// mu and the EVD's lock.
func (d *direction) count(n int, since epoch) bool {
	r := &d.evd.room
	if d.evd.attention&attendCounting == 0 {
		d.epoch = 0
		return false
	}
	d.epoch = r.tally.epoch()
	if d.epoch != since {
		r.tally.add(d.epoch, n)
	}
	if s := r.shares[d]; s != nil {
		d.evd.uncharge(s)
	}
	d.freely, d.quietly = 0, 0
	return true
}

func (d *direction) charge(_ *EVD, limit int) int { return limit }

func (d *direction) leaveRoom(*EVD) {} // it has: see EP.free and open

func (d *direction) syncRoom(evd *EVD) {
	for !d.mu.TryLock() {
		if d.restsOn(evd) {
			return
		}
		runtime.Gosched()
	}
	defer d.mu.Unlock()
	if d.evd == evd && d.handle != 0 {
		// No suppressed operation keeps its room unnoticed.
		reported := d.epoch != 0 || d.report()
		d.followRoom()
		if !reported {
			evd.reportLater(d)
		}
		return
	}
	evd.mu.Lock()
	defer evd.unlock()
	if s := evd.room.shares[d]; s != nil {
		evd.uncharge(s)
	}
}

// reportLater has a direction report what it could not when counting began.
func (evd *EVD) reportLater(d *direction) {
	evd.mu.Lock()
	defer evd.unlock()
	evd.room.late = append(evd.room.late, d)
	evd.room.isLate.Store(true)
}

// reportLate makes up for that where it can now. The caller may hold a direction.
func (evd *EVD) reportLate() {
	evd.mu.Lock()
	late := evd.room.late
	evd.room.late = nil
	evd.room.isLate.Store(false)
	evd.unlock()
	for _, d := range late {
		if !d.mu.TryLock() {
			evd.reportLater(d)
			continue
		}
		reported := d.evd != evd || d.report()
		d.mu.Unlock()
		if !reported {
			evd.reportLater(d)
		}
	}
}

// rest lets others know that the caller, who holds mu, is about to wait for the
// library, and posts nothing until wake but a report. Nobody must wait for mu just
// to learn what is outstanding.
func (d *direction) rest() { d.setResting(true) }

// wake ends that, and makes up for what has been missed.
func (d *direction) wake() {
	if d.setResting(false) {
		d.followRoom()
	}
}

func (d *direction) setResting(resting bool) (counted bool) {
	if d.evd == nil || d.shared {
		return false
	}
	d.evd.mu.Lock()
	defer d.evd.unlock()
	s := d.evd.room.shares[d]
	if s != nil {
		s.resting = resting
	}
	return s != nil
}

// restsOn reports whether the direction rests. If so, and if the EVD counts all
// that it may have outstanding, it has the EVD count what it has.
func (d *direction) restsOn(evd *EVD) bool {
	evd.mu.Lock()
	defer evd.unlock()
	s := evd.room.shares[d]
	switch {
	case s == nil:
		return true // it has left
	case !s.resting:
		return false
	}
	if s.unknown {
		const report = 1
		evd.room.charge(s, min(s.charged, int(d.outstanding())+report))
	}
	return true
}

// retires is how many operations a completion with the given sequence bits retires.
func (d *direction) retires(sequence uint64) int {
	return int((sequence-d.retired.Load())&sequenceMask) + 1
}
