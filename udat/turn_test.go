package udat_test

import (
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// SpinPoll lets others run when it has found something, too.
func TestSpinPollTakesTurns(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 4, udat.EVDSoftware)
		patience := udattest.Context(t)
		for began := time.Now(); !udat.InTurn(evd, began); {
			if patience.Err() != nil {
				t.Fatal("the goroutine that spins does not let others run")
			}
			want(t, evd.PostSE(1))
			want(t, evd.PostSE(2))
			udat.EndTurn(evd) // goes on, if another goroutine has just ended its turn
			events := make([]udat.Event, 2)
			if n, err := evd.SpinPoll(events, time.Millisecond); n != 2 || err != nil {
				t.Fatalf("got %d events, %v", n, err)
			}
		}
	})
}

// Posting lets others run, too, where it takes long.
func TestPostsTakeTurns(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !udat.HasLongPosts(ia) {
			t.Skip("needs a software device: on others, posting takes no time")
		}
		active, passive := udattest.Pair(t, ia, nil)
		remote, err := passive.Memory.RMRTriplet(0, 8)
		want(t, err)
		segment := one(active.Segment(t, 0, 8))
		for name, post := range map[string]func(){
			"alone": func() { want(t, active.EP.PostRDMAWrite(segment, 1, remote, 0)) },
			"a batch": func() {
				postAll(t, active.EP, []udat.Post{{Operation: udat.DTORDMAWrite, Segments: segment, Cookie: 1, Remote: remote}})
			},
		} {
			patience := udattest.Context(t)
			for ended := false; !ended; {
				if patience.Err() != nil {
					t.Fatalf("%s: a goroutine that posts does not let others run", name)
				}
				udat.SpendTurn()
				post()
				ended = udat.TurnHasEnded() // before the wait, which may end a turn, too
				udattest.Expect(t, active.Request, udat.EventDTOCompletion)
			}
		}
	})
}
