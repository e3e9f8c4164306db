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

	seat   *seat // where it sleeps, nil if it waits for wake
	seated bool  // an agent may have been told to wake it there
}

var waiterPool = sync.Pool{New: func() any {
	w := &waiter{wake: make(chan struct{}, 1)}
	w.place.Member = w
	return w
}}

// newWaiter returns a waiter, which goes back with release.
func newWaiter(need int) *waiter {
	w := waiterPool.Get().(*waiter)
	w.need = need
	return w
}

// release gives back a waiter that is in no list.
func (w *waiter) release() {
	w.forgetWake()
	w.seat, w.seated = nil, false
	waiterPool.Put(w)
}

// forgetWake forgets a wake-up that has come too late for the last sleep.
func (w *waiter) forgetWake() {
	select {
	case <-w.wake:
	default:
	}
}

// sleep returns when the waiter was woken, or something has come to its end. In a
// seat it may return without that.
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

// waiterList holds the goroutines that wait on an EVD. To be woken is to leave
// the list.
//
// One event wakes one of them. So a waiter that was woken must look for events,
// and tell the others of what it leaves, before it gives up.
type waiterList struct {
	mu      lockorder.Mutex[lockorder.Last]
	singles fifo.Queue[*waiter] // wait for an event
	batches fifo.Queue[*waiter] // wait for several

	// observers are the binding's own: they wait for completions to be recorded
	// and take no events.
	observers fifo.Queue[*waiter]
	observed  atomic.Bool // there are some; written under mu

	eagerness eagerness

	unwaitable atomic.Bool   // written under mu
	revoked    chan struct{} // closed when it becomes unwaitable
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

// remove reports false when the waiter has been woken.
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

// notify wakes one who looks what has come, and who tells the others.
func (l *waiterList) notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wakeObservers()
	if !wakeFirst(&l.singles) {
		wakeFirst(&l.batches)
	}
}

// wakeFor wakes who can use events: news have come, there are left of them in all.
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

// wakeBatches has those who wait for several events look whether the queue still
// holds so many.
func (l *waiterList) wakeBatches() {
	l.mu.Lock()
	defer l.mu.Unlock()
	wakeAll(&l.batches)
}

// revocation gives a channel that is closed when a wait that has begun must end.
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

// end has those look up who sleep while the EVD is freed.
func (l *waiterList) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pokeSeats()
}

// pokeSeats wakes those who sleep in a seat. They stay in the list.
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
