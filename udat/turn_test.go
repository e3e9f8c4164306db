package udat_test

import (
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
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
