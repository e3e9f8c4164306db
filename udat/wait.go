package udat

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/goudat/goudat/cgo"
)

// Wait takes one event, and waits for it as long as ctx allows. A goroutine that
// sleeps holds no thread, except for up to 8 on an adapter, each of which waits
// alone on an event dispatcher that is not the asynchronous one. Before it
// sleeps it looks for the event a while, see SetWaitSpin. When ctx ends first, the error matches that of the context and its
// cause, and no event is lost; an event that is there already is returned even when
// ctx has ended. Wait allocates no more than Dequeue while waits use the same context:
// the first sleep with another one allocates what watches for its end.
//
// In a bubble of testing/synctest a wait that has to end by time never ends: the
// bubble's clock stands still while a goroutine waits for something outside.
//
// It fails with ErrInvalidState after SetUnwaitable, and with ErrClosed when the
// EVD is freed. If the library cannot notify of events, Wait returns its error
// instead of sleeping, and the next Wait tries again.
//
// Stands in for:
//
//	DAT_RETURN dat_evd_wait(IN DAT_EVD_HANDLE evd_handle,
//	                        IN DAT_TIMEOUT timeout,
//	                        IN DAT_COUNT threshold,
//	                        OUT DAT_EVENT *event,
//	                        OUT DAT_COUNT *n_more)
func (evd *EVD) Wait(ctx context.Context) (Event, error) {
	var events [1]Event
	if n, err := evd.wait(ctx, events[:], 1); n == 0 {
		return Event{}, err
	}
	return events[0], nil
}

// WaitBatch waits until threshold events are there, and takes as many as there
// are then, up to len(events). threshold must be 1 to len(events), and not more
// than the queue holds. When ctx ends first, no event is taken. Otherwise it is
// Wait, and calls the same C function.
func (evd *EVD) WaitBatch(ctx context.Context, events []Event, threshold int) (int, error) {
	if err := evd.checkThreshold(events, threshold); err != nil {
		return 0, err
	}
	return evd.wait(ctx, events, threshold)
}

const waitOp = "dat_evd_wait"

func (evd *EVD) checkThreshold(events []Event, threshold int) error {
	if err := evd.object().enter(waitOp, NoSubtype); err != nil {
		return err
	}
	defer evd.obj.leave()
	if len(events) == 0 {
		return refuse(waitOp, ErrInvalidParameter, InvalidArg3, "the slice has no room for an event: make it longer")
	}
	length := evd.length()
	if most := min(len(events), length); threshold < 1 || threshold > most {
		return refuse(waitOp, ErrInvalidParameter, InvalidArg3,
			"the threshold is %d, make it 1 to %d, since the slice has room for %d events and the queue for %d", threshold, most, len(events), length)
	}
	return nil
}

// wait waits until at least need events are there, and takes them.
func (evd *EVD) wait(ctx context.Context, events []Event, need int) (int, error) {
	if err := checkContext(waitOp, ctx); err != nil {
		return 0, evd.object().refused(waitOp, NoSubtype, err)
	}
	if evd == nil {
		return 0, evd.object().enter(waitOp, NoSubtype)
	}
	if evd.waiters.unwaitable.Load() {
		return 0, evd.obj.refused(waitOp, NoSubtype, errUnwaitable)
	}
	n, err := evd.takeIf(events, need)
	switch {
	case n > 0:
		return n, err
	case err != nil:
		evd.waiters.notify() // the next waiter meets the error itself, and tries to arm the EVD
		return 0, err
	}
	return evd.waitForMore(ctx, events, need)
}

// waitForMore is wait after a first look that has found too few events.
func (evd *EVD) waitForMore(ctx context.Context, events []Event, need int) (int, error) {
	w := newWaiter(need)
	defer evd.dismiss(w)
	var revoked <-chan struct{}
	for {
		if need == 1 {
			if most := evd.waiters.beginSpin(); most > 0 {
				n, err := evd.spin(ctx, events, most)
				evd.waiters.endSpin(n > 0)
				if n > 0 {
					return n, err
				}
			}
		}
		if revoked == nil {
			revoked = evd.waiters.revocation()
		}
		if need == 1 && w.seat == nil && evd.hasSeats() {
			w.seat = evd.ia.notifier.seats.take(ctx)
		}
		if w.seat != nil {
			evd.takeQueues(w)
		}
		stopped := false
		switch err := evd.sleep(waitOp, w, nil, ctx.Done(), revoked); err {
		case nil:
		case errStopped:
			stopped = true // look again: the notification of an event may still be on its way
		default:
			return 0, err
		}
		w.leaveQueues() // first: what was in the queues may be for this waiter
		n, err := evd.takeAwake(w, events)
		switch {
		case n > 0:
			return n, err
		case err != nil:
			evd.waiters.notify()
			return 0, err
		case stopped:
			return 0, interrupted(waitOp, ctx)
		}
	}
}

// hasSeats reports whether a goroutine that begins to wait may sleep on a seat: no other
// goroutine waits, and no CNO has to be told of the events. The asynchronous EVD has no
// seats, since the notifier's goroutine empties it in any case. Where one processor runs all
// goroutines, the sleep would keep it from the others until the runtime notices.
func (evd *EVD) hasSeats() bool {
	return evd.flags&EVDAsync == 0 && evd.attachment.Load() == nil && evd.waiters.alone() && runtime.GOMAXPROCS(0) > 1
}

// dismiss releases a waiter whose wait has ended.
func (evd *EVD) dismiss(w *waiter) {
	if w.seatArmed && evd.obj.enter(waitOp, NoSubtype) == nil {
		evd.mu.Lock()
		_, _ = evd.leaveSeat(w, nil) // whoever takes events next gets the error, too
		evd.unlock()
		evd.obj.leave()
		evd.waiters.notify() // the agent may have told nobody else of an event, and another must arm the EVD
	}
	w.leaveQueues()
	if w.seat != nil {
		evd.ia.notifier.seats.put(w.seat)
	}
	w.release()
}

// takeQueues has the goroutine on the waiter's seat, instead of the notifier's, empty the
// queues of the binding's own from which the EVD's events come. The agents of these queues
// then write to this seat alone, and forget that of any other waiter.
func (evd *EVD) takeQueues(w *waiter) {
	if evd.flags&EVDConnection != 0 {
		w.queues[0] = evd.ia.connections.only()
	}
	if evd.flags&EVDCR != 0 {
		w.queues[1] = evd.ia.services.requests()
	}
	for _, queue := range w.queues {
		if queue != nil {
			queue.keepEmpty(w.seat.fd)
		}
	}
}

// leaveQueues empties the queues once more, and leaves them to the notifier's goroutine.
func (w *waiter) leaveQueues() {
	for i, queue := range w.queues {
		if queue != nil {
			queue.keepEmpty(cgo.NoSeat)
			w.queues[i] = nil
		}
	}
}

// leaveSeat ends the agent's use of the waiter's seat, and takes what the library has
// queued: into events if the backlog is empty, or else into the backlog. It returns how
// many events it has put into events, also from the backlog. The caller holds the gate
// and mu.
func (evd *EVD) leaveSeat(w *waiter, events []Event) (n int, err error) {
	w.seatArmed = false
	raw := evd.scratch(max(len(events), 1))
	got, age, r := cgo.EVDLeaveSeat(evd.handle, evd.agent, raw)
	if age > 0 {
		evd.ia.notifier.latency.note(age)
		evd.announce() // the agent has told nobody else of its events
	}
	if len(events) > 0 && evd.backlog.len() == 0 {
		n, r = evd.takeDecoded(events, raw, got, r)
		return n, checkDequeue(waitOp, r)
	}
	err = checkDequeue(waitOp, evd.drainFrom(raw, got, r))
	return evd.popAll(events), err
}

func checkContext(op string, ctx context.Context) error {
	if ctx == nil {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the context is nil: context.Background is one that never ends")
	}
	return nil
}

// takeIf takes events if at least need of them are there. If other goroutines wait, it
// arms the EVD, and wakes those that can use the events that are left. If arming fails,
// takeIf fails only if there is nothing to take.
func (evd *EVD) takeIf(events []Event, need int) (int, error) {
	if err := evd.object().enter(waitOp, NoSubtype); err != nil {
		return 0, err
	}
	defer evd.obj.leave()
	if evd.flags&EVDConnection != 0 {
		evd.ia.connections.reap()
	}
	evd.mu.Lock()
	defer evd.unlock()
	var unarmed error
	if need > 1 || evd.waiters.takers() {
		unarmed = evd.arm(waitOp, cgo.SameSeat)
	}
	if need > 1 && evd.backlog.len() < need {
		if need > evd.length() {
			return 0, errShortened
		}
		return 0, unarmed
	}
	n, err := evd.fill(waitOp, events)
	if unarmed != nil {
		err = evd.leaveUnarmed(n, err, unarmed)
	}
	return n, err
}

// takeAwake is takeIf for a waiter that has slept.
func (evd *EVD) takeAwake(w *waiter, events []Event) (int, error) {
	if !w.seatArmed {
		return evd.takeIf(events, w.need)
	}
	if err := evd.object().enter(waitOp, NoSubtype); err != nil {
		return 0, err
	}
	defer evd.obj.leave()
	evd.mu.Lock()
	defer evd.unlock()
	n, err := evd.leaveSeat(w, events)
	if evd.waiters.takers() {
		if unarmed := evd.arm(waitOp, cgo.SameSeat); unarmed != nil {
			err = evd.leaveUnarmed(n, err, unarmed)
		}
	}
	return n, err
}

// leaveUnarmed returns the error of a waiter that has taken n events, and could not arm
// the EVD for the others. It wakes them if n > 0, since they have to arm it themselves.
func (evd *EVD) leaveUnarmed(n int, err, unarmed error) error {
	if n > 0 {
		evd.waiters.notify()
	} else if err == nil {
		err = unarmed
	}
	return err
}

// errShortened is the error of waits for more events than the queue holds since Resize
// has made it shorter.
var errShortened = refuse(waitOp, ErrInvalidState, NoSubtype, "the event dispatcher was made shorter than the threshold: lower the threshold")

// errStopped says that a wait's stop channel was closed.
var errStopped = &Error{Op: waitOp, Return: classError | Return(ErrInterruptedCall)}

// errUnwaitable is the error of waits that SetUnwaitable ended or forbids.
var errUnwaitable = refuse(waitOp, ErrInvalidState, InvalidStateEVDUnwaitable, "the event dispatcher was made unwaitable: ClearUnwaitable takes that back")

// sleep returns nil when it is time to look for events again, errStopped when stop is
// closed, errUnwaitable when revoked is closed, and ErrClosed when the EVD is freed. It
// does not wait if done, which may be nil, returns true. The caller must not hold the
// gate: Free waits for that.
func (evd *EVD) sleep(op string, w *waiter, done func() bool, stop, revoked <-chan struct{}) error {
	ready, err := evd.enlist(op, w)
	if ready || err != nil {
		return err
	}
	over := done != nil && done()
	if !over {
		mayWait()
		w.sleep(stop, revoked, evd.closing)
	}
	if !evd.waiters.remove(w) || over {
		return nil // it was woken, and must look, since no other waiter was, whatever else has happened
	}
	if w.seat != nil {
		evd.notified() // the agent may have told nobody else of an event
	}
	switch {
	case isClosed(stop):
		return errStopped
	case isClosed(revoked):
		return errUnwaitable
	case isClosed(evd.closing):
		return evd.obj.freed(op, NoSubtype)
	}
	return nil
}

// enlist adds the waiter to the list of waiters, and arms the EVD. It returns true, and
// takes the waiter off the list, if there are as many events as the waiter needs, or, for
// an observer, whose need is 0, any that it has not seen.
func (evd *EVD) enlist(op string, w *waiter) (ready bool, err error) {
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return false, err
	}
	defer evd.obj.leave()
	evd.mu.Lock()
	defer evd.unlock()
	evd.waiters.add(w)
	seat := cgo.SameSeat
	if w.seat != nil {
		seat, w.seatArmed = w.seat.fd, true
	}
	err = evd.arm(op, seat)
	if w.need == 0 {
		ready = evd.arrivals > 0
	} else {
		ready = evd.backlog.len() >= w.need
	}
	if (ready || err != nil) && !evd.waiters.remove(w) {
		ready = true // it was woken
	}
	if ready {
		err = nil
	}
	return ready, err
}

// await is sleep for the binding itself. It returns nil when completions were recorded,
// whichever goroutine has taken them from the library. What done looks at must change in
// no other way. If the library cannot notify of completions, await returns nil from time
// to time, since the binding has to finish what it has begun even so. Its errors say that
// the wait was stopped or the EVD was freed.
func (evd *EVD) await(op string, done func() bool, stop <-chan struct{}) error {
	w := newWaiter(0)
	defer w.release()
	err := evd.sleep(op, w, done, stop, nil)
	if err == nil || err == errStopped || errors.Is(err, ErrClosed) {
		return err
	}
	select {
	case <-time.After(armAgainAfter):
	case <-stop:
		return errStopped
	case <-evd.closing:
		return evd.obj.freed(op, NoSubtype)
	}
	return nil
}

// notified is called when the library has events after the EVD was armed: by the
// notifier's goroutine, or by a goroutine that was woken on its seat.
func (evd *EVD) notified() {
	if evd.selfEmptying {
		evd.keepEmpty(cgo.SameSeat)
	}
	evd.waiters.notify()
	evd.announce()
}

// SetUnwaitable ends the waits on the event dispatcher with ErrInvalidState, subtype InvalidStateEVDUnwaitable, and
// lets no more begin until ClearUnwaitable. Events arrive as before, and Dequeue, Poll, SpinPoll and the CNO return
// them.
//
// Implements:
//
//	DAT_RETURN dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) SetUnwaitable() error {
	const op = "dat_evd_set_unwaitable"
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return err
	}
	defer evd.obj.leave()
	if err := check(op, cgo.EVDSetUnwaitable(evd.handle)); err != nil {
		return err
	}
	evd.waiters.revoke()
	return nil
}

// ClearUnwaitable allows waits again.
//
// Implements:
//
//	DAT_RETURN dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) ClearUnwaitable() error {
	const op = "dat_evd_clear_unwaitable"
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return err
	}
	defer evd.obj.leave()
	if err := check(op, cgo.EVDClearUnwaitable(evd.handle)); err != nil {
		return err
	}
	evd.waiters.restore()
	return nil
}
