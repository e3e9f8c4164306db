package udat_test

import (
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
)

// A goroutine that spins lets others run before Go's runtime takes its processor
// away, and reads the clock for that at every eighth event only.
func TestTurn(t *testing.T) {
	const long, short = 6 * time.Millisecond, -time.Hour
	for _, test := range []struct {
		had          time.Duration
		calls, found int
		ends         bool
	}{
		{long, 1, 0, true},
		{long, 7, 1, false},
		{long, 8, 1, true},
		{short, 8, 0, false},
		{short, 16, 1, false},
	} {
		if ends := udat.TurnEnds(test.had, test.calls, test.found); ends != test.ends {
			t.Errorf("after %v and %d calls that find %d: let others run %v, want %v", test.had, test.calls, test.found, ends, test.ends)
		}
	}
}
