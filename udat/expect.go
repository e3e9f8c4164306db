package udat

import (
	"context"
	"fmt"
	"iter"
)

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
// with its qualifier.
func (e *EventError) Error() string {
	got := e.Event.Number.String()
	switch e.Event.Number {
	case EventDTOCompletion, EventRMRBindCompletion:
		got = fmt.Sprintf("%v of %v, cookie %d: %v", e.Event.Number, e.Event.Operation, e.Event.Cookie, e.Event.Status)
		if e.Want == e.Event.Number {
			return "udat: " + got
		}
	case EventConnectionRequest:
		if cr := e.Event.CR(); cr != nil {
			got = fmt.Sprintf("%v for the qualifier %d", e.Event.Number, cr.param.ConnQual)
		}
	}
	return fmt.Sprintf("udat: got %s instead of %v", got, e.Want)
}

// Unwrap returns the event as an error.
func (e *EventError) Unwrap() error {
	if e.Event.isCompletion() && e.Event.Status != DTOSuccess {
		return e.Event.Status
	}
	return e.Event.Number
}
