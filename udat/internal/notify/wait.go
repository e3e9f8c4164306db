package notify

import (
	"context"
	"runtime"
	"runtime/trace"
	"time"
	"weak"

	"github.com/goudat/goudat/cgo"
)

// unwaitable is what dat_evd_wait returns when dat_evd_set_unwaitable has ended it.
const unwaitable = cgo.Return(cgo.ClassError) | cgo.Return(cgo.InvalidState) | cgo.Return(cgo.InvalidStateEVDUnwaitable)

const freed = cgo.Return(cgo.ClassError) | cgo.Return(cgo.InvalidHandle)

// Wait waits until need events are there. It returns up to most of them, as many as Scratch has
// room for, and leaves the queue locked. Without events it returns the reason: TimeoutExpired if
// the context has ended, InvalidHandle if the EVD is freed, or what dat_evd_wait returned.
func (q *Queue) Wait(ctx context.Context, most, need int) ([]cgo.Event, cgo.Return) {
	q.waiters.mu.Lock()
	generation, refused := q.waiters.generation, q.waiters.unwaitable
	q.waiters.mu.Unlock()
	if refused {
		return nil, unwaitable
	}
	raw, r := q.tryTake(most, need)
	if len(raw) == 0 && r.OK() && need == 1 {
		raw, r = q.spinBriefly(ctx, most)
	}
	if len(raw) > 0 || !r.OK() {
		return raw, r
	}
	q.notifier.sleeps.Add(1)
	defer trace.StartRegion(ctx, "dat_evd_wait").End()
	w := newWaiter(need)
	defer w.release()
	w.generation = generation
	for len(raw) == 0 && r.OK() {
		var again bool
		if raw, r, again = q.block(ctx, w, most); again {
			raw, r = q.park(ctx, w, most)
		}
	}
	return raw, r
}

// tryTake takes events if need of them are there, and then leaves the queue locked.
func (q *Queue) tryTake(most, need int) (raw []cgo.Event, r cgo.Return) {
	if !q.lockForSlice() {
		return nil, cgo.Success.Return()
	}
	raw, r = q.tryTakeLocked(most, need)
	q.slice.count(raw)
	if len(raw) == 0 {
		q.mu.Unlock()
	}
	return raw, r
}

// lockForSlice is LockUnlessBlocked for a goroutine that takes events again and again. It lets other
// goroutines run before, if that is due: also if there are always events, so that it never sleeps.
func (q *Queue) lockForSlice() bool {
	locked := q.LockUnlessBlocked()
	if locked && q.slice.over() {
		q.mu.Unlock()
		runtime.Gosched()
		locked = q.LockUnlessBlocked()
	}
	return locked
}

// tryTakeLocked is tryTake with the queue locked. Too few events are a success.
func (q *Queue) tryTakeLocked(most, need int) ([]cgo.Event, cgo.Return) {
	if q.handle == 0 {
		return nil, freed
	}
	raw := q.Scratch(most)
	var n int
	var r cgo.Return
	if need == 1 {
		n, r = q.library.take(q.handle, raw)
	} else {
		n, r = q.library.wait(q.handle, 0, int32(need), raw)
	}
	if n > 0 || r.Type() == cgo.QueueEmpty || r.Type() == cgo.TimeoutExpired || r == unwaitable {
		r = cgo.Success.Return()
	}
	return raw[:n], r
}

// MostSpin is the longest that one Spin takes. The queue is locked meanwhile, and nobody sees
// that a wait is to end. A crossing in vain takes 84 ns in all, 0.2 % of that; a
// millisecond made Go's monitor thread look as often.
const MostSpin = 50 * time.Microsecond

// Spin looks for events again and again for up to budget, at most MostSpin, in C. It returns
// up to most of them, and leaves the queue locked then.
func (q *Queue) Spin(most int, budget time.Duration) ([]cgo.Event, cgo.Return) {
	if !q.lockForSlice() {
		runtime.Gosched()
		return nil, cgo.Success.Return()
	}
	n, r, raw := 0, freed, q.Scratch(most)
	if q.handle != 0 {
		n, r = q.library.spin(q.handle, raw, budget)
		q.slice.count(raw[:n])
	}
	if n == 0 {
		q.mu.Unlock()
	}
	if n > 0 || r.Type() == cgo.QueueEmpty {
		r = cgo.Success.Return()
	}
	return raw[:n], r
}

// spinBriefly spins as long as it may: see SetSpin.
func (q *Queue) spinBriefly(ctx context.Context, most int) (raw []cgo.Event, r cgo.Return) {
	left := q.waiters.beginSpin()
	if left == 0 {
		return nil, r
	}
	defer func() { q.waiters.endSpin(len(raw) > 0) }() // also if the context panics
	for ; len(raw) == 0 && r.OK() && left > 0 && ctx.Err() == nil; left -= MostSpin {
		raw, r = q.Spin(most, min(left, MostSpin))
	}
	return raw, r
}

// block waits in the library, with its thread, unless another goroutine does. A sleep in Go's
// poller instead stops and starts the runtime's monitor thread whenever the process is idle, which
// doubled a round trip. If it returns no events and success, the caller looks again, or parks if
// park is true.
func (q *Queue) block(ctx context.Context, w *waiter, most int) (raw []cgo.Event, r cgo.Return, park bool) {
	if !q.notifier.acquireThread() {
		return nil, r, true
	}
	defer q.notifier.releaseThread()
	if !q.LockUnlessBlocked() {
		return nil, r, true
	}
	if q.handle == 0 || !q.waiters.beginBlocking(w) {
		q.mu.Unlock()
		return nil, r, true
	}
	blocks := true
	defer func() {
		if blocks { // the context has panicked
			q.endBlocking()
			q.mu.Unlock()
		}
	}()
	q.interruptAtEnd(ctx)
	n, raw := 0, q.Scratch(most)
	r = unwaitable
	if ctx.Err() == nil {
		n, r = q.library.wait(q.handle, cgo.TimeoutInfinite, int32(w.need), raw)
	}
	interrupted := n == 0 && (r == unwaitable || ctx.Err() != nil) // a context may panic, and events must not be lost
	blocks = false
	q.endBlocking()
	raw = raw[:n]
	if interrupted {
		raw, r = q.tryTakeLocked(most, w.need)
	}
	if len(raw) > 0 {
		return raw, cgo.Success.Return(), false
	}
	q.mu.Unlock()
	if interrupted && r.OK() {
		r = q.waiters.ended(ctx, w)
		return nil, r, r.OK() && w.need > 1
	}
	if r.Type() == cgo.QueueEmpty {
		r = cgo.Success.Return()
	}
	return nil, r, false
}

// park waits until the waiter is woken, and then takes events. If the queue notified already, an
// event may have woken another waiter, so park also looks before it waits.
func (q *Queue) park(ctx context.Context, w *waiter, most int) (raw []cgo.Event, r cgo.Return) {
	end := ctx.Done() // a context may panic, but not while the waiter is parked
	late, r := q.beginParking(w)
	if !r.OK() {
		return nil, r
	}
	if late {
		raw, r = q.tryTake(most, w.need)
	}
	early := len(raw) > 0 // a wake-up that comes after this look is for other events
	if len(raw) == 0 && r.OK() {
		select {
		case <-w.wake:
		case <-end:
		}
	}
	q.waiters.mu.Lock()
	woken := !q.waiters.parked.remove(w)
	q.waiters.mu.Unlock()
	if len(raw) == 0 && r.OK() {
		raw, r = q.tryTake(most, w.need)
	}
	if len(raw) == 0 && r.OK() {
		r = q.waiters.ended(ctx, w)
	}
	if !r.OK() || woken && (early || len(raw) > 0 && len(raw) == len(q.Scratch(most))) {
		q.wakeAfter(woken)
	}
	return raw, r
}

// interruptAtEnd makes the end of the context interrupt the caller, which blocks.
func (q *Queue) interruptAtEnd(ctx context.Context) {
	w := &q.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched == ctx.Done() {
		return
	}
	if w.stopWatch != nil {
		w.stopWatch()
	}
	w.watched, w.stopWatch = nil, nil
	end := ctx.Done()
	if end != nil {
		forgettable := weak.Make(q) // the context is no reason to keep it
		w.stopWatch = context.AfterFunc(ctx, func() {
			if q := forgettable.Value(); q != nil {
				q.waiters.mu.Lock()
				defer q.waiters.mu.Unlock()
				q.interrupt()
			}
		})
	}
	w.watched = end
}
