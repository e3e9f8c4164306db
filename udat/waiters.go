package udat

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/fifo"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// waiters has the goroutines that wait on an EVD. Up to one of them leads: it waits in the
// library. The others are parked until the notifier, or the leader when it leaves, wakes
// them.
//
// One event wakes one waiter. So a waiter that was woken looks for events, and tells
// others if it may leave any, even if its wait has ended meanwhile: see passOn.
type waiters struct {
	mu     lockorder.Mutex[waitersRank]
	parked fifo.Queue[*waiter]

	leading    bool
	leaderNeed int  // events that the leader waits for
	kicked     bool // the leader was told to return
	passing    int  // goroutines that want EVD.mu, which the leader holds
	unwaitable bool
	ended      int // how often SetUnwaitable has ended the waits

	// armed says that the EVD triggers the notifier's CNO.
	armed    bool
	cno      *CNO // the program's, which the EVD triggers while it is not armed; nil for none
	disabled bool // it does not trigger that either

	// watched is the channel of the context whose end kicks the leader, nil for none. It
	// stays when the wait has ended, so that waiting again with the same context costs
	// nothing.
	watched   <-chan struct{}
	stopWatch func() bool

	eagerness eagerness
}

// waiter is one goroutine that waits.
type waiter struct {
	wake  chan struct{} // holds one wake-up, so that none is missed before the waiter blocks
	need  int           // events that it waits for
	ended int           // waiters.ended when the wait began
	place fifo.Link[*waiter]
}

var waiterPool = sync.Pool{New: func() any {
	w := &waiter{wake: make(chan struct{}, 1)}
	w.place.Member = w
	return w
}}

// newWaiter returns a waiter, which the caller must release.
func newWaiter(need int) *waiter {
	w := waiterPool.Get().(*waiter)
	w.need = need
	return w
}

// release returns a waiter, which is not parked, to the pool.
func (w *waiter) release() {
	w.forgetWake()
	waiterPool.Put(w)
}

// forgetWake drops a wake-up that has come too late for the last sleep.
func (w *waiter) forgetWake() {
	select {
	case <-w.wake:
	default:
	}
}

// wakeSome wakes whoever may use new events: one waiter for a single event, and all
// for several. The caller holds mu.
func (l *waiters) wakeSome() {
	single := false
	for place := l.parked.First(); place != nil; {
		next := place.Next()
		if w := place.Member; w.need > 1 || !single {
			single = single || w.need == 1
			l.parked.Remove(place)
			w.wake <- struct{}{}
		}
		place = next
	}
}

// wakeAll has all of the waiters decide anew how to wait. The caller holds the lock of the queue.
func wakeAll(parked *fifo.Queue[*waiter]) {
	for place := parked.Pop(); place != nil; place = parked.Pop() {
		place.Member.wake <- struct{}{}
	}
}

// kick has the leader return from the library. The caller holds mu.
func (l *waiters) kick(evd cgo.EVDHandle) {
	if l.leading && !l.kicked {
		l.kicked = true
		cgo.EVDSetUnwaitable(evd)
	}
}

// beginLeading makes the caller, which holds the EVD's mu, the leader unless others wait
// already or want that lock.
func (l *waiters) beginLeading(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leading || l.ended != w.ended || l.passing > 0 || l.parked.Len() > 0 {
		return false
	}
	l.leading, l.leaderNeed = true, w.need
	return true
}

// endLeading tells others of the events that the leader has left. The waiter that it wakes may
// wait for nothing more: those who stay parked are told of events from then on.
func (evd *EVD) endLeading() {
	l := &evd.waiters
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kicked && !l.unwaitable {
		cgo.EVDClearUnwaitable(evd.handle)
	}
	l.leading, l.kicked = false, false
	evd.handOn() // those who have looked meanwhile have found nothing
	if l.parked.Len() > 0 && evd.arm(waitOp) != nil {
		wakeAll(&l.parked) // each finds the error
	}
}

// follow has the end of the context kick the leader, which is the caller.
func (evd *EVD) follow(ctx context.Context) {
	l := &evd.waiters
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watched == ctx.Done() {
		return
	}
	if l.stopWatch != nil {
		l.stopWatch()
	}
	l.watched, l.stopWatch = nil, nil
	ended := ctx.Done()
	if ended != nil {
		forgettable := weak.Make(evd) // the context is no reason to keep it
		l.stopWatch = context.AfterFunc(ctx, func() {
			if evd := forgettable.Value(); evd != nil {
				evd.waiters.mu.Lock()
				defer evd.waiters.mu.Unlock()
				evd.waiters.kick(evd.handle)
			}
		})
	}
	l.watched = ended
}

// lock takes mu, for which the leader has to return from the library.
func (evd *EVD) lock() { evd.lockBeside(true) }

// lockToTake takes mu unless a goroutine waits in the library, which gets the events that
// come.
func (evd *EVD) lockToTake() bool { return evd.lockBeside(false) }

func (evd *EVD) lockBeside(kick bool) bool {
	if evd.mu.TryLock() {
		return true
	}
	l := &evd.waiters
	l.mu.Lock()
	if l.leading && !kick {
		l.mu.Unlock()
		return false
	}
	l.kick(evd.handle)
	l.passing++
	l.mu.Unlock()
	evd.mu.Lock()
	l.mu.Lock()
	l.passing--
	l.mu.Unlock()
	return true
}

// park adds a waiter, and has the EVD tell the notifier of events unless there is a leader. It
// reports whether others may have been told of events that are there, so that nobody is told
// again.
func (evd *EVD) park(op string, w *waiter) (told bool, err error) {
	l := &evd.waiters
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != w.ended {
		return false, errUnwaitable
	}
	w.forgetWake()
	l.parked.Push(&w.place)
	told = l.armed
	switch {
	case l.leading && l.leaderNeed > 1:
		l.kick(evd.handle) // it leaves events that are enough for this one
	case !l.leading:
		if err = evd.arm(op); err != nil {
			l.parked.Remove(&w.place)
		}
	}
	return told, err
}

// unpark takes the waiter off the list. It returns false if the waiter was woken before.
func (l *waiters) unpark(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.parked.Remove(&w.place)
}

// arm has the EVD trigger the notifier's CNO, at once if events are there, until disarm. Its
// events do not trigger the program's CNO meanwhile. The caller holds waiters.mu.
func (evd *EVD) arm(op string) error {
	l := &evd.waiters
	if l.armed {
		return nil
	}
	if l.cno != nil {
		if err := check(op, cgo.EVDModifyCNO(evd.handle, evd.ia.notifier.cno)); err != nil {
			return err
		}
	}
	l.armed = true
	if r := cgo.EVDEnable(evd.handle); !r.OK() {
		evd.disarm()
		return check(op, r)
	}
	return nil
}

// disarm undoes arm. The caller holds waiters.mu.
func (evd *EVD) disarm() {
	l := &evd.waiters
	l.armed = false
	cgo.EVDDisable(evd.handle)
	if l.cno != nil {
		cgo.EVDModifyCNO(evd.handle, l.cno.handle)
		if !l.disabled {
			cgo.EVDEnable(evd.handle)
		}
	}
}

// passOn is called by the notifier when the EVD has triggered its CNO, and by a waiter that
// leaves events, perhaps: woken says whether it was told of them. The last one always tells others.
func (evd *EVD) passOn(woken bool) {
	if evd.obj.enter(waitOp, NoSubtype) != nil {
		return
	}
	defer evd.obj.leave()
	evd.waiters.mu.Lock()
	defer evd.waiters.mu.Unlock()
	if woken || evd.waiters.parked.Len() == 0 {
		evd.handOn()
	}
}

// handOn tells those who wait on the EVD, or else on the program's CNO, of events that may be
// there. The notifier is told no more if nobody is parked: those who poll need no
// notifications. The caller holds waiters.mu.
func (evd *EVD) handOn() {
	l := &evd.waiters
	switch {
	case l.parked.Len() > 0:
		l.wakeSome()
	case l.armed:
		evd.disarm()
	case l.cno != nil && !l.disabled:
		cgo.EVDEnable(evd.handle) // again: it triggers the CNO if there are events
	}
}

// DefaultWaitSpin is how long Wait looks for an event before it sleeps, unless
// SetWaitSpin sets another time.
const DefaultWaitSpin = 50 * time.Microsecond

// SetWaitSpin sets how long Wait, or WaitBatch with a threshold of 1, looks
// for an event in C before it sleeps, from 0 for never to MaxSpin.
//
// Sleeping costs at least two context switches. Wait backs off when spinning does not
// help, down to one spin in 64 waits, until a spin finds an event. It does not spin while
// another goroutine waits on the event dispatcher, while all processors but one
// spin in waits, or when GOMAXPROCS is 1.
func (evd *EVD) SetWaitSpin(most time.Duration) error {
	if err := evd.object().enter(waitOp, NoSubtype); err != nil {
		return err
	}
	defer evd.obj.leave()
	if most < 0 || most > MaxSpin {
		return refuse(waitOp, ErrInvalidParameter, InvalidArg2, "the time to spin is %v, it must be 0 to %v", most, MaxSpin)
	}
	evd.waiters.mu.Lock()
	defer evd.waiters.mu.Unlock()
	evd.waiters.eagerness.most = most
	return nil
}

// eagerness decides which waits spin. It is guarded by the lock of the waiters.
type eagerness struct {
	most   time.Duration
	pause  int // how many waits sleep at once after a spin in vain
	sleeps int // how many of these are still to come
}

// mostPause keeps the cost of spinning low where it never finds an event.
const mostPause = 63

// spinners counts the goroutines of the process that spin in a wait.
var spinners atomic.Int32

// beginSpin returns how long a wait may spin at most, 0 if it must not. If it may, the
// caller must call endSpin.
func (l *waiters) beginSpin() (most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &l.eagerness
	switch {
	case e.most == 0 || l.leading || l.parked.Len() > 0:
		return 0
	case e.sleeps > 0:
		e.sleeps--
		return 0
	case int(spinners.Add(1)) < runtime.GOMAXPROCS(0):
		return e.most
	}
	spinners.Add(-1)
	return 0
}

func (l *waiters) endSpin(found bool) {
	spinners.Add(-1)
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &l.eagerness
	if e.pause = min(2*e.pause+1, mostPause); found {
		e.pause = 0
	}
	e.sleeps = e.pause
}
