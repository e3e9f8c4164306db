package udat_test

import (
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// A goroutine that spins lets others run before Go's runtime takes its processor
// away. Of calls that took one short message each, only every eighth reads the clock for that.
func TestTurn(t *testing.T) {
	const long, short = 6 * time.Millisecond, -time.Hour
	one := []udat.Event{{Length: 4096}}
	for _, test := range []struct {
		had   time.Duration
		calls int
		taken []udat.Event
		ends  bool
	}{
		{long, 1, nil, true},
		{long, 7, one, false},
		{long, 8, one, true},
		{long, 1, []udat.Event{{}, {}}, true},
		{long, 1, []udat.Event{{Length: 4097}}, true},
		{short, 8, nil, false},
		{short, 16, one, false},
	} {
		if ends := udat.TurnEnds(test.had, test.calls, test.taken); ends != test.ends {
			t.Errorf("after %v and %d calls that take %d events: let others run %v, want %v", test.had, test.calls, len(test.taken), ends, test.ends)
		}
	}
}

// SpinPoll lets others run when it has found something, too.
func TestSpinPollTakesTurns(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 4, udat.EVDSoftware)
		want(t, evd.PostSE(1))
		want(t, evd.PostSE(2))
		udat.EndTurn(evd)
		began := time.Now()
		events := make([]udat.Event, 2)
		if n, err := evd.SpinPoll(events, time.Millisecond); n != 2 || err != nil {
			t.Fatalf("got %d events, %v", n, err)
		}
		if !udat.InTurn(evd, began) {
			t.Error("the goroutine that spins does not let others run")
		}
	})
}
