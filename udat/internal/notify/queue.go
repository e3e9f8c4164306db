// Package notify has the goroutines that wait for events, and what wakes them.
//
// A goroutine that waits looks for events, spins for a moment, and then blocks or parks. One that
// blocks is in dat_evd_wait, with its thread and the lock of the queue. A queue has at most one.
// All others park: they wait in Go.
//
// There are three ways to end that:
//
//   - Those who are parked are woken, to look for events.
//   - The one that blocks is interrupted: it returns from the library.
//   - A queue notifies while goroutines are parked and nobody blocks: it triggers the CNO of the
//     Notifier, which wakes one of them.
//
// A function that stands for one of C returns what that does. Events are the library's own, not
// decoded. The package knows of no objects but EVDs and CNOs.
package notify

import (
	"sync"
	"time"

	"github.com/goudat/goudat/cgo"
)

// Queue is the queue of an event dispatcher. A goroutine that takes its events holds its lock: see
// LockUnlessBlocked, Wait and Spin. Others hold it so that, meanwhile, no events are taken and no
// objects of events are used. Calls that only keep the EVD alive use Enter.
type Queue struct {
	mu     sync.Mutex
	handle cgo.EVDHandle // 0 once freed; it changes with mu and that of the waiters held
	raw    []cgo.Event
	slice  timeslice // of the goroutine that spins

	library  *library
	notifier *Notifier

	waiters waiters
}

// Init sets up the queue of a new EVD, which is attached to the CNO, or to that of the notifier if
// cno is 0.
func (q *Queue) Init(n *Notifier, evd cgo.EVDHandle, cno cgo.CNOHandle) {
	q.library, q.notifier, q.handle, q.waiters.trigger.cno = n.library, n, evd, cno
	if cno == 0 {
		q.library.disable(evd) // until somebody waits
	}
	q.waiters.spinning.most = MostSpin
}

// LockUnlessBlocked locks the queue to take events. It reports false if a goroutine blocks: that
// one gets the events.
func (q *Queue) LockUnlessBlocked() bool { return q.mu.TryLock() || q.lockSlow(false) }

// Lock locks the queue. It interrupts the goroutine that blocks.
func (q *Queue) Lock() {
	if !q.mu.TryLock() {
		q.lockSlow(true)
	}
}

// Unlock unlocks the queue.
func (q *Queue) Unlock() { q.mu.Unlock() }

func (q *Queue) lockSlow(interrupt bool) bool {
	w := &q.waiters
	w.mu.Lock()
	if w.blocker != nil && !interrupt {
		w.mu.Unlock()
		return false
	}
	q.interrupt()
	w.wantLock++
	w.mu.Unlock()
	q.mu.Lock()
	w.mu.Lock()
	w.wantLock--
	w.mu.Unlock()
	return true
}

// Handle returns the EVD, 0 if it is freed. The caller has locked the queue, or entered it.
func (q *Queue) Handle() cgo.EVDHandle { return q.handle }

// Scratch returns room for up to n events, at least one. The caller has locked the queue.
func (q *Queue) Scratch(n int) []cgo.Event {
	if n > len(q.raw) {
		q.lengthen(n)
	}
	return q.raw[:min(n, len(q.raw))]
}

func (q *Queue) lengthen(n int) {
	const most = 1024 // events of 120 bytes; a crossing adds 2 ns to each of 16
	if len(q.raw) < most {
		q.raw = make([]cgo.Event, min(max(n, 2*len(q.raw)), most))
	}
}

// Enter keeps the EVD alive until Leave, beside those who take events. It reports false if
// the EVD is freed. The caller does not wait meanwhile.
func (q *Queue) Enter() bool {
	q.waiters.mu.Lock()
	if q.handle == 0 {
		q.waiters.mu.Unlock()
		return false
	}
	return true
}

// Leave ends what Enter has begun.
func (q *Queue) Leave() { q.waiters.mu.Unlock() }

// Free calls free, and ends all waits. The caller has locked the queue.
func (q *Queue) Free(free func(cgo.EVDHandle) cgo.Return) cgo.Return {
	w := &q.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := free(q.handle); !r.OK() {
		if _, enabled := q.target(w.trigger); enabled { // the library has disabled it
			q.library.enable(q.handle)
		}
		return r
	}
	q.handle = 0
	if w.stopWatch != nil {
		w.stopWatch()
	}
	w.parked.wakeAll()
	return cgo.Success.Return()
}

// Resize changes the length, see dat_evd_resize. The caller has locked the queue.
func (q *Queue) Resize(least int32) cgo.Return {
	r := q.library.resize(q.handle, least)
	q.waiters.mu.Lock()
	q.waiters.parked.wakeAll() // those who wait for more than the queue holds now
	q.waiters.mu.Unlock()
	return r
}

// Attach attaches the EVD to a CNO of the program, 0 for none. From here on, callers have entered.
func (q *Queue) Attach(cno cgo.CNOHandle) cgo.Return {
	to := q.waiters.trigger
	to.cno = cno
	return q.setTrigger(to)
}

// SetDisabled says whether events do not trigger the program's CNO.
func (q *Queue) SetDisabled(disabled bool) cgo.Return {
	to := q.waiters.trigger
	to.disabled = disabled
	return q.setTrigger(to)
}

// trigger says which CNO the events of an EVD trigger: the notifier's if notifies is set, else the
// program's.
type trigger struct {
	cno      cgo.CNOHandle // the program's, 0 for none
	disabled bool          // the program has called EVD.Disable
	notifies bool
}

// target returns the CNO to which the EVD is to be attached, and whether it is to be enabled.
func (q *Queue) target(t trigger) (cno cgo.CNOHandle, enabled bool) {
	if t.notifies || t.cno == 0 {
		return q.notifier.cno, t.notifies
	}
	return t.cno, !t.disabled
}

// setTrigger changes the trigger, or nothing if that fails. Events that are there trigger it at
// once.
func (q *Queue) setTrigger(to trigger) cgo.Return {
	from := q.waiters.trigger
	r := q.apply(from, to)
	if !r.OK() {
		q.apply(to, from)
		return r
	}
	q.waiters.trigger = to
	return r
}

func (q *Queue) apply(from, to trigger) (r cgo.Return) {
	before, _ := q.target(from)
	cno, enabled := q.target(to)
	if cno != before || !enabled {
		r = q.library.disable(q.handle)
	}
	if r.OK() && cno != before {
		r = q.library.attach(q.handle, cno)
	}
	if r.OK() && enabled {
		r = q.library.enable(q.handle)
	}
	return r
}

// SetUnwaitable ends all waits, and lets none begin, or allows them again.
func (q *Queue) SetUnwaitable(unwaitable bool) cgo.Return {
	w := &q.waiters
	if !unwaitable {
		w.unwaitable = false
		if w.interrupted { // the interrupted goroutine does it before it returns
			return cgo.Success.Return()
		}
		return q.library.clearUnwaitable(q.handle)
	}
	if r := q.library.setUnwaitable(q.handle); !r.OK() {
		return r
	}
	w.unwaitable = true
	w.generation++
	w.interrupted = w.interrupted || w.blocker != nil
	w.parked.wakeAll()
	return cgo.Success.Return()
}

// Disabled reports what SetDisabled has set last.
func (q *Queue) Disabled() bool { return q.waiters.trigger.disabled }

// Unwaitable reports what SetUnwaitable has set last.
func (q *Queue) Unwaitable() bool { return q.waiters.unwaitable }

// library is what waiting calls. Tests have another one.
type library struct {
	take                                            func(cgo.EVDHandle, []cgo.Event) (int, cgo.Return)
	spin                                            func(cgo.EVDHandle, []cgo.Event, time.Duration) (int, cgo.Return)
	wait                                            func(evd cgo.EVDHandle, timeout uint32, threshold int32, events []cgo.Event) (int, cgo.Return)
	setUnwaitable, clearUnwaitable, enable, disable func(cgo.EVDHandle) cgo.Return
	attach                                          func(cgo.EVDHandle, cgo.CNOHandle) cgo.Return
	resize                                          func(cgo.EVDHandle, int32) cgo.Return
}

var native = &library{
	take:            cgo.EVDDequeueBatch,
	spin:            cgo.EVDSpin,
	wait:            cgo.EVDWaitBatch,
	setUnwaitable:   cgo.EVDSetUnwaitable,
	clearUnwaitable: cgo.EVDClearUnwaitable,
	enable:          cgo.EVDEnable,
	disable:         cgo.EVDDisable,
	attach:          cgo.EVDModifyCNO,
	resize:          cgo.EVDResize,
}
