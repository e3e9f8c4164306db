package udat

import (
	"context"
	"fmt"
	"iter"
)

// Events returns the events as they come, each taken by Wait when the loop asks
// for it. The last pair of values has the error of Wait that ended it.
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

// Expect waits for an event of the given number, as Wait does, and returns it.
// If it is another event, or a completion that failed, Expect returns the event
// with an *EventError. If no event comes, the error is that of Wait.
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

// EventError is the error of EVD.Expect: an event that was not the one that the
// program wanted. It matches the Number of the event, or the DTOStatus of a completion
// that failed.
type EventError struct {
	Want  EventNumber
	Event Event
}

// Error names both events. Of a completion it tells the operation, the cookie and
// the status, of a connection request the qualifier.
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

// Unwrap returns what the event is as an error.
func (e *EventError) Unwrap() error {
	if e.Event.isCompletion() && e.Event.Status != DTOSuccess {
		return e.Event.Status
	}
	return e.Event.Number
}
