package udat

import (
	"context"
	"iter"
)

// Events returns the events as they come, each taken by Wait when the loop asks
// for it: a loop that is left loses none. The last pair of values has the error
// that ended it, of ctx or of Wait.
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
