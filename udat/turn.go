package udat

import "time"

// A turn is the time that a goroutine which spins has had a processor. Go's
// runtime takes the processor of a goroutine that it has found in C for 10 ms,
// and then looks for more of them every 20 µs, for a millisecond and longer: on
// a machine whose processors are all in use, at the cost of those who spin.
// A goroutine that lets others run before that is left in peace.
type turn struct {
	begun time.Duration // after turnEpoch
	calls int
}

const (
	// longestTurn is half of the runtime's 10 ms.
	longestTurn = 5 * time.Millisecond

	// callsAtOnce is how many brief calls share one reading of the clock, which takes 28 ns.
	callsAtOnce = 8
	// briefLength is the most bytes of the one message that a brief call takes. Posting more
	// can take long: the kernel moves the bytes of a software device during the call.
	briefLength = 4096
)

var turnEpoch = time.Now()

// over notes a call that took these events, and reports whether the turn has lasted so long
// that other goroutines should run now.
func (t *turn) over(taken []Event) bool {
	if len(taken) == 1 && taken[0].Length <= briefLength {
		if t.calls++; t.calls%callsAtOnce != 0 {
			return false
		}
	}
	now := time.Since(turnEpoch)
	if now-t.begun < longestTurn {
		return false
	}
	t.begun = now
	return true
}
