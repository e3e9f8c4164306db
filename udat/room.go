package udat

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
)

// Room on an EVD for completions is a matter of posting. The library has none to
// spare: an EVD for which more completions come than it holds is dead, and the
// endpoints on it hang. So each operation takes room when it is posted, which is
// back when the program has taken its completion, or when none is to come.
//
// That is counted on an EVD whose feeders could have more outstanding than it
// holds, and on no other. The mode changes as feeders come and go. A direction
// follows it with its field freely, the taking of completions with
// EVD.attention, both of which are looked at in any case.

// feeder is what completions come from: a direction of an endpoint, or a shared
// receive queue.
type feeder interface {
	// charge returns the room that the feeder has until syncRoom, when counting
	// begins. The caller holds the EVD's lock.
	charge(evd *EVD, limit int) int
	// syncRoom makes the feeder count, or not, as the EVD does. The caller holds
	// no lock.
	syncRoom(evd *EVD)
	// leaveRoom takes what a feeder that leaves has outstanding from the count.
	// The caller holds the EVD's lock.
	leaveRoom(evd *EVD)
}

// room is the account of an EVD. The EVD's lock guards what is not atomic.
type room struct {
	shares map[feeder]*share
	limits int // of all shares

	length atomic.Int64 // how many completions and software events the EVD holds
	native atomic.Int64 // how many of them the library's queue holds
	moved  atomic.Int64 // how many of those that are counted lie in the backlog
	tally  tally

	unknown atomic.Int64 // shares of which it is not known what they have outstanding

	late   []*direction // that have suppressed operations to report: see reportLater
	isLate atomic.Bool  // there are some
}

// share is what a feeder may have outstanding.
type share struct {
	uses    int // an endpoint that is being replaced uses it twice
	limit   int
	charged int  // room that counts as taken until the feeder counts its own
	unknown bool // charged is the most that it may be
	resting bool // see direction.rest
}

// tally is the room that is taken, with the epoch that it belongs to: counting
// begins with each odd epoch, and ends with each even one.
type tally struct{ packed atomic.Uint64 }

type epoch uint32

const epochShift = 32

func (t *tally) epoch() epoch { return epoch(t.packed.Load() >> epochShift) }

func (t *tally) used() int { return int(int32(t.packed.Load())) }

// next begins an epoch. The caller holds the EVD's lock.
func (t *tally) next(used int) {
	t.packed.Store(uint64(t.epoch()+1)<<epochShift | uint64(uint32(used)))
}

// add changes the room that is taken, unless that is of another epoch.
func (t *tally) add(e epoch, n int) {
	for {
		packed := t.packed.Load()
		if epoch(packed>>epochShift) != e || t.packed.CompareAndSwap(packed, changed(packed, n)) {
			return
		}
	}
}

func changed(packed uint64, n int) uint64 {
	return packed&^math.MaxUint32 | uint64(uint32(int32(packed)+int32(n)))
}

// take takes room for n operations if there is so much. It reports true in any
// case when the epoch is over: nothing is counted then, or the feeder is charged.
func (r *room) take(e epoch, n int) bool {
	for {
		packed := r.tally.packed.Load()
		if epoch(packed>>epochShift) != e {
			return true
		}
		used := int64(int32(packed)) + int64(n)
		if used > r.length.Load() || used-r.moved.Load() > r.native.Load() {
			return false
		}
		if r.tally.packed.CompareAndSwap(packed, changed(packed, n)) {
			return true
		}
	}
}

// What needs attention when an event is decoded or queued.
const (
	attendDraining uint8 = 1 << iota // what is decoded goes to the backlog
	attendCounting                   // room is counted
	attendBacklog                    // the backlog is bounded
)

// admit makes room a matter of posting if the feeder, with operations up to the
// limit, could fill the EVD. The caller holds the gate.
func (evd *EVD) admit(f feeder, limit int) {
	evd.mu.Lock()
	defer evd.unlock()
	r := &evd.room
	s := r.shares[f]
	if s == nil {
		if r.shares == nil {
			r.shares = make(map[feeder]*share)
		}
		s = &share{}
		r.shares[f] = s
		if evd.attention&attendCounting != 0 {
			s.charged = f.charge(evd, 0)
		}
	}
	s.uses++
	r.setLimit(s, max(s.limit, limit))
	evd.decideCounting(0)
}

// dismiss ends one use of a feeder. If that has others, its limit is stays.
func (evd *EVD) dismiss(f feeder, stays int) {
	evd.mu.Lock()
	defer evd.unlock()
	r := &evd.room
	s := r.shares[f]
	if s.uses--; s.uses > 0 {
		r.setLimit(s, stays)
	} else {
		r.setLimit(s, 0)
		evd.uncharge(s)
		f.leaveRoom(evd)
		delete(r.shares, f)
	}
	if evd.attention&attendCounting != 0 { // it does not begin with that
		evd.decideCounting(0)
	}
}

func (r *room) setLimit(s *share, limit int) {
	r.limits += limit - s.limit
	s.limit = limit
}

func (evd *EVD) uncharge(s *share) { evd.room.charge(s, 0) }

// charge changes what a feeder is charged with, now that this is known.
func (r *room) charge(s *share, n int) {
	r.tally.add(r.tally.epoch(), n-s.charged)
	s.charged = n
	if s.unknown {
		s.unknown = false
		r.unknown.Add(-1)
	}
}

// holds is how many events the EVD holds, wherever they come from.
func (r *room) holds() int { return int(min(r.length.Load(), r.native.Load())) }

// decideCounting begins or ends the counting, where more further events than it
// has are to come. The caller holds the lock, and recounts without it.
func (evd *EVD) decideCounting(further int) {
	r := &evd.room
	softwareEvents := int(evd.capacity.used.Load() - evd.requests.Load())
	might := r.limits + softwareEvents + further
	switch counting := evd.attention&attendCounting != 0; {
	case counting == (r.limits > 0 && might > r.holds()):
	case counting:
		evd.attention &^= attendCounting
		for _, s := range r.shares {
			evd.uncharge(s)
		}
		r.tally.next(0)
	default:
		evd.beginCounting()
	}
}

// beginCounting counts the events that are there, and charges the feeders with
// all that they may have outstanding.
func (evd *EVD) beginCounting() {
	evd.drain()
	r := &evd.room
	used := len(evd.backlog.events) - evd.backlog.head
	for i := range evd.backlog.events[evd.backlog.head:] {
		event := &evd.backlog.events[evd.backlog.head+i]
		event.held |= roomHeld | roomMoved
	}
	r.moved.Store(int64(used))
	evd.attention |= attendCounting
	r.tally.next(used)
	for f, s := range r.shares {
		r.charge(s, f.charge(evd, s.limit))
		if s.charged > 0 {
			s.unknown = true
			r.unknown.Add(1)
		}
	}
}

// recount has each feeder that does not know the mode yet follow it. Until then
// one counts for all that it may have outstanding. The caller holds neither gates
// nor locks.
func (evd *EVD) recount() {
	evd.recounting.Lock()
	defer evd.recounting.Unlock()
	evd.mu.Lock()
	if evd.recountedIn == evd.room.tally.epoch() {
		evd.mu.Unlock()
		return
	}
	evd.recountedIn = evd.room.tally.epoch()
	feeders := make([]feeder, 0, len(evd.room.shares))
	for f := range evd.room.shares {
		feeders = append(feeders, f)
	}
	evd.mu.Unlock()
	for _, f := range feeders {
		f.syncRoom(evd)
	}
}

// recountWithin is far longer than a recount takes.
const recountWithin = 100 * time.Millisecond

// awaitRecount waits for a recount that is under way. It needs no direction that
// knows the mode: the caller may hold such a one.
func (evd *EVD) awaitRecount() {
	for start := time.Now(); evd.room.unknown.Load() > 0 && time.Since(start) < recountWithin; {
		runtime.Gosched()
	}
}

// takeRoom takes room for an operation. If there is none it looks whether
// completions make some: those that the program does not see, and, where the
// library's queue is shorter than the EVD, those that move to the backlog. The
// EVD is kept alive by an endpoint.
func (evd *EVD) takeRoom(e epoch) bool {
	if evd.room.isLate.Load() {
		evd.reportLate()
	}
	if evd.room.take(e, 1) {
		return true
	}
	evd.awaitRecount()
	evd.reap()
	return evd.room.take(e, 1)
}

// errNoRoom says that an operation has no room on an EVD.
func (evd *EVD) errNoRoom(op string) error {
	return refuse(op, ErrInsufficientResources, ResourceTEVD,
		"the event dispatcher holds %d completions, which operations that are outstanding and completions that were not taken fill: take completions, or make it longer with Resize", evd.room.length.Load())
}

// account notes the room of an operation's completion, and those before it that
// are implied, when the library has given it. The caller holds the EVD's lock.
func (evd *EVD) account(d *direction, sequence uint64, kept bool, event *Event) {
	if evd.attention&attendCounting != 0 {
		e, n := evd.room.tally.epoch(), 0
		if d.epoch == e {
			n = -d.retires(sequence)
		}
		if !kept {
			event.held |= roomHeld
			n++
		}
		evd.room.tally.add(e, n)
	}
	if evd.attention&attendDraining != 0 && !kept {
		event.held |= held(d.untaken.add())
	}
}

// holdRoom takes room for an event that is there, whether or not there is some.
func (evd *EVD) holdRoom(event *Event) {
	event.held |= roomHeld
	evd.room.tally.add(evd.room.tally.epoch(), 1)
}

// held is what an event has on its way to the program: room, and for a
// completion in the backlog the generation of its direction.
type held uint32

const (
	roomHeld       held = 1 << (31 - iota)
	roomMoved           // to the backlog
	generationMask = roomMoved - 1
)

// release gives back what an event has that leaves the queue. The caller holds
// the lock.
func (evd *EVD) release(event *Event) {
	if event.held&roomMoved != 0 { // first, so that nobody sees more room in the library than there is
		evd.room.moved.Add(-1)
	}
	if event.held&roomHeld != 0 {
		evd.room.tally.add(evd.room.tally.epoch(), -1)
	}
	if g := generation(event.held & generationMask); g != 0 {
		event.direction().untaken.remove(g)
	}
	event.held = 0
}
