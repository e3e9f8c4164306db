package udat

import "slices"

// A receive of a shared queue may complete on any receive EVD of the queue's
// endpoints, and so has room on each that counts its own. When it completes on
// one, its completion takes room there, and nothing on the others.

// countedEVD is an EVD with the epoch of its count that has the receives.
type countedEVD struct {
	evd   *EVD
	epoch epoch
}

// outstanding is how many receives have not completed. The caller holds mu.
func (srq *SRQ) outstanding() int { return len(srq.slots) - len(srq.free) }

// takeRoom takes room for a receive on each EVD that counts, or returns one that
// has none. The caller holds mu.
func (srq *SRQ) takeRoom() (full *EVD) {
	for i, c := range srq.counted {
		if !c.evd.room.take(c.epoch, 1) {
			srq.giveRoom(srq.counted[:i])
			return c.evd
		}
	}
	return nil
}

func (srq *SRQ) giveRoom(counted []countedEVD) {
	for _, c := range counted {
		c.evd.room.tally.add(c.epoch, -1)
	}
}

// tidy takes from the library what completions are there, if the EVD is alive.
func (evd *EVD) tidy() {
	if evd.obj.enter("dat_evd_dequeue", NoSubtype) == nil {
		evd.reap()
		evd.obj.leave()
	}
}

// charge begins to count at once.
func (srq *SRQ) charge(evd *EVD, _ int) int {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	srq.forgetCounted(evd)
	c := countedEVD{evd, evd.room.tally.epoch()}
	srq.counted = append(srq.counted, c)
	evd.room.tally.add(c.epoch, srq.outstanding())
	return 0
}

func (srq *SRQ) forgetCounted(evd *EVD) (was epoch) {
	srq.counted = slices.DeleteFunc(srq.counted, func(c countedEVD) bool {
		if c.evd == evd {
			was = c.epoch
		}
		return c.evd == evd
	})
	return was
}

func (srq *SRQ) leaveRoom(evd *EVD) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	if was := srq.forgetCounted(evd); was != 0 {
		evd.room.tally.add(was, -srq.outstanding())
	}
}

func (srq *SRQ) syncRoom(evd *EVD) {
	evd.mu.Lock()
	defer evd.unlock()
	if evd.attention&attendCounting == 0 {
		srq.leaveRoom(evd)
	}
}

// tooShort reports whether more may come to the library's queue than that holds.
func (evd *EVD) tooShort() bool {
	evd.mu.Lock()
	defer evd.unlock()
	r := &evd.room
	return evd.attention&attendCounting != 0 && int64(r.tally.used())-r.moved.Load() > r.native.Load()
}
