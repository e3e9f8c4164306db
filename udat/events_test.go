package udat_test

import (
	"context"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// The loop gets the events in order, leaves those that it does not ask for, and
// learns what ended it.
func TestEvents(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 16, udat.EVDSoftware)
		ctx, cancel := context.WithCancel(udattest.Context(t))
		defer cancel()
		post(t, evd, 0, 1, 2, 3)
		next := uint64(0)
		for event, err := range evd.Events(ctx) {
			want(t, err)
			if event.Cookie != next {
				t.Errorf("got the cookie %d, want %d", event.Cookie, next)
			}
			if next++; next == 3 {
				break
			}
		}
		loops := 0
		for event, err := range evd.Events(ctx) {
			switch loops++; loops {
			case 1:
				want(t, err)
				if event.Cookie != 3 {
					t.Errorf("got the cookie %d, want 3", event.Cookie)
				}
				cancel()
			case 2:
				want(t, err, context.Canceled, udat.ErrInterruptedCall)
			default:
				t.Fatal("the loop goes on after an error")
			}
		}
		if loops != 2 {
			t.Errorf("the loop ran %d times", loops)
		}
	})
}
