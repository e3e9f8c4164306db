//go:build !race

package udat_test

import (
	"context"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// A message, from the posts to the completions, costs no allocation on either side.
func TestTransferDoesNotAllocate(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		out, in := active.Segment(t, 0, 64), passive.Segment(t, 0, 64)
		ctx := context.Background()
		message := func() {
			if err := passive.PostRecv([]udat.Segment{in}, 1, 0); err != nil {
				t.Fatal(err)
			}
			if err := active.PostSend([]udat.Segment{out}, 2, 0); err != nil {
				t.Fatal(err)
			}
			for _, evd := range [...]*udat.EVD{active.Request, passive.Recv} {
				if event, err := evd.Wait(ctx); err != nil || event.Err() != nil {
					t.Fatal(err, event.Err())
				}
				if _, err := evd.Dequeue(); err == nil {
					t.Fatal("there is more than one event")
				}
			}
			if _, err := active.GetStatus(); err != nil {
				t.Fatal(err)
			}
		}
		message() // the first one fills the pools
		if n := testing.AllocsPerRun(100, message); n >= 1 {
			t.Errorf("a message costs %v allocations", n)
		}
	})
}
