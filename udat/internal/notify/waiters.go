package notify

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
)

// waiters has the goroutines that wait on a queue.
//
// One event wakes one waiter. So a waiter that was woken looks for events, and wakes
// another if it may leave any, even if its wait has ended meanwhile: see wakeAfter.
type waiters struct {
	mu     sync.Mutex
	parked parked

	blocker     *waiter // nil if nobody blocks
	interrupted bool
	wantLock    int // goroutines in lockSlow
	unwaitable  bool
	generation  int // SetUnwaitable ends the waits of earlier generations

	trigger trigger

	// watched is the channel of the context whose end interrupts, nil for none. It stays when
	// the wait has ended, so that waiting again with the same context costs nothing.
	watched   <-chan struct{}
	stopWatch func() bool

	spinning spinning
}

// waiter is one goroutine that waits.
type waiter struct {
	wake       chan struct{} // holds one wake-up, so that none is missed before the waiter parks
	need       int           // events
	generation int
}

var waiterPool = sync.Pool{New: func() any { return &waiter{wake: make(chan struct{}, 1)} }}

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

// forgetWake drops a wake-up of an earlier wait.
func (w *waiter) forgetWake() {
	select {
	case <-w.wake:
	default:
	}
}

// parked are waiters, in the order in which they have come. Their owner has a lock for them.
type parked []*waiter

func (p *parked) add(w *waiter) { *p = append(*p, w) }

// remove returns false if the waiter was woken before.
func (p *parked) remove(w *waiter) bool {
	i := slices.Index(*p, w)
	if i >= 0 {
		*p = slices.Delete(*p, i, i+1)
	}
	return i >= 0
}

// wakeSome wakes whoever may use new events: one waiter for a single event, and all for several.
func (p *parked) wakeSome() {
	single := false
	*p = slices.DeleteFunc(*p, func(w *waiter) bool {
		if w.need == 1 && single {
			return false
		}
		single = single || w.need == 1
		w.wake <- struct{}{}
		return true
	})
}

func (p *parked) wakeAll() {
	for _, w := range *p {
		w.wake <- struct{}{}
	}
	*p = slices.Delete(*p, 0, len(*p))
}

// ended returns why the wait is to end, success if it is not.
func (w *waiters) ended(ctx context.Context, waiter *waiter) cgo.Return {
	if ctx.Err() != nil {
		return cgo.TimeoutExpired.Return()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.generation != waiter.generation {
		return unwaitable
	}
	return cgo.Success.Return()
}

// interrupt has the goroutine that blocks return from the library. The caller has entered.
func (q *Queue) interrupt() {
	if w := &q.waiters; w.blocker != nil && !w.interrupted {
		w.interrupted = true
		q.library.setUnwaitable(q.handle)
	}
}

// beginBlocking reports whether the caller, which has locked the queue, is to block: not if others
// wait already, or want that lock.
func (w *waiters) beginBlocking(waiter *waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blocker != nil || w.generation != waiter.generation || w.wantLock > 0 || len(w.parked) > 0 {
		return false
	}
	w.blocker = waiter
	return true
}

// endBlocking wakes others for the events that the caller leaves. Whom it wakes may
// wait for nothing more: the queue notifies those who stay parked.
func (q *Queue) endBlocking() {
	w := &q.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.interrupted && !w.unwaitable {
		q.library.clearUnwaitable(q.handle)
	}
	w.blocker, w.interrupted = nil, false
	q.wake() // those who have looked meanwhile have found nothing
	if len(w.parked) > 0 && !q.setNotifies(true).OK() {
		w.parked.wakeAll() // each finds the error
	}
}

// beginParking adds a waiter, and makes the queue notify unless a goroutine blocks. It is late if
// the queue already notified, or if the waiter needs several events, which a resized queue may not
// hold.
func (q *Queue) beginParking(waiter *waiter) (late bool, r cgo.Return) {
	w := &q.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case q.handle == 0:
		return false, freed
	case w.generation != waiter.generation:
		return false, unwaitable
	}
	waiter.forgetWake()
	w.parked.add(waiter)
	late = w.trigger.notifies || waiter.need > 1
	switch {
	case w.blocker == nil:
		if r = q.setNotifies(true); !r.OK() {
			w.parked.remove(waiter)
		}
	case w.blocker.need > 1:
		q.interrupt() // it leaves events that are enough for this one
	}
	return late, r
}

// setNotifies says whether the EVD triggers the notifier's CNO, and not the program's. The caller
// has entered.
func (q *Queue) setNotifies(notifies bool) cgo.Return {
	to := q.waiters.trigger
	if to.notifies == notifies {
		return cgo.Success.Return()
	}
	to.notifies = notifies
	return q.setTrigger(to)
}

// wakeAfter passes a wake-up on: for the notifier, and for a waiter that may leave events. woken
// says whether the caller was woken for events. The last waiter passes it on in any case.
func (q *Queue) wakeAfter(woken bool) {
	if !q.Enter() {
		return
	}
	defer q.Leave()
	if woken || len(q.waiters.parked) == 0 {
		q.wake()
	}
}

// wake wakes a goroutine that waits on the queue, or else on the program's CNO, for events that may
// be there. The queue stops notifying if nobody is parked: polling needs no notifications. The
// caller has entered.
func (q *Queue) wake() {
	switch w := &q.waiters; {
	case len(w.parked) > 0:
		w.parked.wakeSome()
	case w.trigger.notifies:
		q.setNotifies(false)
	case w.trigger.cno != 0 && !w.trigger.disabled:
		q.library.enable(q.handle) // again: it triggers the CNO if there are events
	}
}

// SetSpin sets how long a wait spins at most: see udat.EVD.SetWaitSpin. The caller has entered.
func (q *Queue) SetSpin(most time.Duration) { q.waiters.spinning.most = most }

// spinning decides which waits spin. Each spin that finds nothing doubles the waits that skip it.
type spinning struct {
	most     time.Duration
	skip     int // waits that skip it after the latest spin
	skipLeft int // of these, how many are still to come
}

// mostSkipped keeps the cost of spinning low where it never finds an event.
const mostSkipped = 63

// spinners counts the goroutines of the process that spin in a wait.
var spinners atomic.Int32

// beginSpin returns how long a wait may spin, 0 if it must not. Else the caller calls endSpin.
func (w *waiters) beginSpin() (most time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.spinning
	switch {
	case s.most == 0 || w.blocker != nil || len(w.parked) > 0:
		return 0
	case s.skipLeft > 0:
		s.skipLeft--
		return 0
	case int(spinners.Add(1)) < runtime.GOMAXPROCS(0):
		return s.most
	}
	spinners.Add(-1)
	return 0
}

func (w *waiters) endSpin(found bool) {
	spinners.Add(-1)
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.spinning
	if s.skip = min(2*s.skip+1, mostSkipped); found {
		s.skip = 0
	}
	s.skipLeft = s.skip
}
