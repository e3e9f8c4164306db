package udat

import (
	"sync"
	"sync/atomic"

	"github.com/goudat/goudat/udat/internal/fifo"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// waiter is one goroutine that waits.
type waiter struct {
	wake  chan struct{} // holds one wake-up, so that none is missed before the waiter blocks
	need  int           // events that it waits for; 0 for an observer
	place fifo.Link[*waiter]

	seat      *seat // on which it sleeps, nil if it waits for wake
	seatArmed bool  // the EVD's agent may write to the seat

	// queues are those of the binding's own whose agents may do so, too, nil for none.
	queues [2]*EVD
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

// release returns a waiter, which must be in no list, to the pool.
func (w *waiter) release() {
	w.forgetWake()
	w.seat, w.seatArmed, w.queues = nil, false, [2]*EVD{}
	waiterPool.Put(w)
}

// forgetWake drops a wake-up that has come too late for the last sleep.
func (w *waiter) forgetWake() {
	select {
	case <-w.wake:
	default:
	}
}

// sleep blocks until the waiter is woken, or one of the channels is closed. On a seat it
// may also return for no reason.
func (w *waiter) sleep(stop, revoked, closing <-chan struct{}) {
	if w.seat == nil {
		select {
		case <-w.wake:
		case <-stop:
		case <-revoked:
		case <-closing:
		}
	} else if !isClosed(stop) && !isClosed(revoked) && !isClosed(closing) {
		w.seat.sleep()
	}
}

// waiterList holds the goroutines that wait on an EVD. A waiter that is woken leaves the
// list.
//
// One event wakes one waiter. So a waiter that was woken must look for events, and wake
// others for those that it leaves, even if its wait has ended meanwhile.
type waiterList struct {
	mu      lockorder.Mutex[lockorder.Last]
	singles fifo.Queue[*waiter] // wait for one event
	batches fifo.Queue[*waiter] // wait for several events

	// observers belong to the binding: they wait for completions to be recorded, and take
	// no events.
	observers fifo.Queue[*waiter]
	observed  atomic.Bool // there are observers; written under mu

	eagerness eagerness

	unwaitable atomic.Bool   // written under mu
	revoked    chan struct{} // closed when the EVD becomes unwaitable
}

func (l *waiterList) list(w *waiter) *fifo.Queue[*waiter] {
	switch w.need {
	case 0:
		return &l.observers
	case 1:
		return &l.singles
	}
	return &l.batches
}

func (l *waiterList) add(w *waiter) {
	w.forgetWake()
	l.mu.Lock()
	l.list(w).Push(&w.place)
	l.observed.Store(l.observers.Len() > 0)
	l.mu.Unlock()
}

// remove takes the waiter off the list. It returns false if the waiter was woken before.
func (l *waiterList) remove(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	removed := l.list(w).Remove(&w.place)
	l.observed.Store(l.observers.Len() > 0)
	return removed
}

// takers reports whether anybody waits for events to take.
func (l *waiterList) takers() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.singles.Len()+l.batches.Len() > 0
}

// tellObservers wakes the observers. It costs nothing when there are none.
func (l *waiterList) tellObservers() {
	if l.observed.Load() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.wakeObservers()
	}
}

func (l *waiterList) wakeObservers() {
	wakeAll(&l.observers)
	l.observed.Store(false)
}

// notify wakes the observers, and one waiter, which looks for events and wakes the others
// if it leaves any.
func (l *waiterList) notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wakeObservers()
	if !wakeFirst(&l.singles) {
		wakeFirst(&l.batches)
	}
}

// wakeFor wakes the waiters that can use events. news is how many have come, and left is
// how many there are in all.
func (l *waiterList) wakeFor(news, left int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wakeObservers()
	for n := min(news, left); n > 0 && wakeFirst(&l.singles); n-- {
	}
	for w := l.batches.First(); w != nil; {
		next := w.Next()
		if w.Member.need <= left {
			l.batches.Remove(w)
			w.Member.signal()
		}
		w = next
	}
}

// wakeBatches has the waiters for several events look whether the queue can still hold so
// many.
func (l *waiterList) wakeBatches() {
	l.mu.Lock()
	defer l.mu.Unlock()
	wakeAll(&l.batches)
}

// revocation returns a channel that is closed when a wait that has begun must end.
func (l *waiterList) revocation() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revocationLocked()
}

func (l *waiterList) revocationLocked() chan struct{} {
	if l.revoked == nil {
		l.revoked = make(chan struct{})
	}
	return l.revoked
}

// revoke ends the waits in progress and allows no more of them.
func (l *waiterList) revoke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unwaitable.Swap(true) {
		return
	}
	close(l.revocationLocked())
	l.pokeSeats()
}

// end wakes the goroutines that sleep on a seat when the EVD is freed.
func (l *waiterList) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pokeSeats()
}

// pokeSeats wakes the goroutines that sleep on a seat. They stay in the list.
func (l *waiterList) pokeSeats() {
	for place := l.singles.First(); place != nil; place = place.Next() {
		if seat := place.Member.seat; seat != nil {
			seat.poke()
		}
	}
}

// alone reports whether nobody waits.
func (l *waiterList) alone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.singles.Len()+l.batches.Len()+l.observers.Len() == 0
}

// restore allows waits again.
func (l *waiterList) restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unwaitable.Swap(false) {
		l.revoked = nil
	}
}

func (w *waiter) signal() {
	if w.seat != nil {
		w.seat.poke()
	} else {
		w.wake <- struct{}{}
	}
}

func wakeFirst(list *fifo.Queue[*waiter]) bool {
	w := list.Pop()
	if w == nil {
		return false
	}
	w.Member.signal()
	return true
}

func wakeAll(list *fifo.Queue[*waiter]) {
	for wakeFirst(list) {
	}
}
