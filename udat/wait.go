package udat

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/notify"
)

// Wait takes one event. It waits until ctx ends; a queued event is returned even after that. If ctx
// ends first, no event is lost, and the error matches the context's error and its cause. Before it
// sleeps, Wait spins for a moment: see SetWaitSpin. Sleeping goroutines hold no thread, except for
// up to 8 of an adapter that are alone on their EVD. Wait allocates no more than Dequeue, except
// for the first sleep with a new context.
//
// While a goroutine is in Wait, new events go to it: they do not trigger the CNO, and Poll and
// Dequeue may find nothing. Events that the last waiter leaves trigger the CNO. Wait fails with
// ErrInvalidState after SetUnwaitable, with ErrClosed when the EVD is freed, and with the library's
// error if that cannot notify.
//
//	Implements: DAT_RETURN dat_evd_wait(IN DAT_EVD_HANDLE evd_handle, IN DAT_TIMEOUT timeout,
//	    IN DAT_COUNT threshold, OUT DAT_EVENT *event, OUT DAT_COUNT *n_more)
func (evd *EVD) Wait(ctx context.Context) (Event, error) {
	var events [1]Event
	if n, err := evd.wait(ctx, events[:], 1); n == 0 {
		return Event{}, err
	}
	return events[0], nil
}

// WaitBatch waits until threshold events are queued, and takes all, up to len(events). threshold
// must be 1 to len(events), and not more than the queue holds. If ctx ends first, it takes none. It
// calls the C function of Wait.
func (evd *EVD) WaitBatch(ctx context.Context, events []Event, threshold int) (int, error) {
	if err := evd.enter(waitOp); err != nil {
		return 0, err
	}
	evd.queue.Leave()
	switch {
	case len(events) == 0:
		return 0, refuse(waitOp, ErrInvalidParameter, InvalidArg3, "the slice has no room for an event: make it longer")
	case threshold < 1 || threshold > len(events):
		return 0, refuse(waitOp, ErrInvalidParameter, InvalidArg3, "the threshold is %d, make it 1 to %d, since the slice has room for so many events", threshold, len(events))
	}
	return evd.wait(ctx, events, threshold)
}

const waitOp = "dat_evd_wait"

// wait waits until at least need events are there, and takes them.
func (evd *EVD) wait(ctx context.Context, events []Event, need int) (int, error) {
	if err := checkContext(waitOp, ctx); err != nil {
		return 0, cmp.Or(objectOf(evd).usable(waitOp, NoSubtype), err)
	}
	if evd == nil {
		return 0, objectOf(evd).enter(waitOp, NoSubtype)
	}
	for {
		raw, r := evd.queue.Wait(ctx, len(events), need)
		if len(raw) == 0 {
			return 0, evd.notWaited(ctx, r)
		}
		n := evd.decode(events, raw)
		if len(raw) == cap(raw) && len(raw) < len(events) { // there may be more than Scratch has room for
			more, _ := evd.take(events[n:])
			n += more
		}
		evd.queue.Unlock() // without a defer: see shadow.Assert
		if n > 0 {
			return n, nil
		}
	}
}

// notWaited returns why a wait has given no event.
func (evd *EVD) notWaited(ctx context.Context, r cgo.Return) error {
	switch r.Type() {
	case cgo.TimeoutExpired:
		return interrupted(waitOp, ctx)
	case cgo.InvalidState:
		if err := evd.obj.usable(waitOp, NoSubtype); err != nil {
			return err
		}
		return refuse(waitOp, ErrInvalidState, InvalidStateEVDUnwaitable, "the event dispatcher was made unwaitable: ClearUnwaitable takes that back")
	case cgo.InvalidParameter:
		return refuse(waitOp, ErrInvalidParameter, InvalidArg3, "the threshold is more than the queue holds: lower it, or see Resize")
	}
	return evd.obj.check(waitOp, NoSubtype, r)
}

// SetUnwaitable ends the waits on the event dispatcher with ErrInvalidState, subtype
// InvalidStateEVDUnwaitable, and refuses new ones until ClearUnwaitable. Events still arrive and
// can be polled.
//
//	Implements: DAT_RETURN dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) SetUnwaitable() error {
	return evd.set("dat_evd_set_unwaitable", (*notify.Queue).SetUnwaitable, true)
}

// ClearUnwaitable allows waits again.
//
//	Implements: DAT_RETURN dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) ClearUnwaitable() error {
	return evd.set("dat_evd_clear_unwaitable", (*notify.Queue).SetUnwaitable, false)
}

// SetWaitSpin sets how long Wait, or WaitBatch with a threshold of 1, spins in C before it sleeps:
// 0 (never) to a second, at first 50 µs. Wait backs off if spinning does not help, until one wait
// in 64 spins. It does not spin while another goroutine waits on the event dispatcher, while all
// processors but one spin in waits, or if GOMAXPROCS is 1.
func (evd *EVD) SetWaitSpin(most time.Duration) error {
	if err := evd.enter(waitOp); err != nil {
		return err
	}
	defer evd.queue.Leave()
	if most < 0 || most > maxSpin {
		return refuse(waitOp, ErrInvalidParameter, InvalidArg2, "the time to spin is %v, it must be 0 to %v", most, maxSpin)
	}
	evd.queue.SetSpin(most)
	return nil
}

// Events returns the events as they come: each step of the loop calls Wait. The last pair of values
// has the error of Wait that ended it.
func (evd *EVD) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			event, err := evd.Wait(ctx)
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// Expect takes one event, or fails, like Wait. If the event has another number, or is a failed
// completion, Expect returns it with an *EventError.
func (evd *EVD) Expect(ctx context.Context, number EventNumber) (Event, error) {
	event, err := evd.Wait(ctx)
	switch {
	case err != nil:
		return Event{}, fmt.Errorf("waiting for %v: %w", number, err)
	case event.Number != number || event.isCompletion() && event.Status != DTOSuccess:
		return event, &EventError{Want: number, Event: event}
	}
	return event, nil
}

// EventError is the error of EVD.Expect for an unexpected event. It matches the event's Number or,
// for a failed completion, the DTOStatus.
type EventError struct {
	Want  EventNumber
	Event Event
}

// Error names both events: a completion with operation, cookie and status, a connection request
// with its qualifier, and NonPeerRejected with its causes.
func (e *EventError) Error() string {
	got := e.Event.Number.String()
	switch e.Event.Number {
	case EventDTOCompletion, EventRMRBindCompletion:
		got = fmt.Sprintf("%v of %v, cookie %d: %v", e.Event.Number, e.Event.Operation, e.Event.Cookie, e.Event.Status)
		if e.Want == e.Event.Number {
			return "udat: " + got
		}
	case EventConnectionNonPeerRejected:
		got += " (nobody listens on the qualifier, or a queue of requests is full)"
	case EventConnectionRequest:
		if cr := e.Event.CR(); cr != nil {
			got = fmt.Sprintf("%v for the qualifier %d", e.Event.Number, cr.param.ConnQual)
		}
	}
	return fmt.Sprintf("udat: got %s instead of %v", got, e.Want)
}

// Unwrap returns the event as an error.
func (e *EventError) Unwrap() error { return cmp.Or[error](e.Event.Err(), e.Event.Number) }
