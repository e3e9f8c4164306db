package udat

import (
	"sync/atomic"
	"time"
)

// A turn is the time that a goroutine which spins has had a processor. Go's
// runtime takes the processor of a goroutine that it has found in C for 10 ms,
// and then looks for more of them every 20 µs, for a millisecond and longer: on
// a machine whose processors are all in use, at the cost of those who spin.
// A goroutine that lets others run before that is left in peace.
//
// Nothing tells which goroutine calls. Each event dispatcher has a turn, as if one
// goroutine polled that and no other.
type turn struct {
	begun time.Duration // after turnEpoch
	calls int
}

const (
	// longestTurn is half of the runtime's 10 ms.
	longestTurn = 5 * time.Millisecond

	// betweenTurns is for a goroutine that polls many event dispatchers, one after the other: it
	// finds the turn of each over. Letting others run for each made a message 5 µs slower, with
	// 1024 of them.
	betweenTurns = time.Millisecond

	// callsAtOnce is how many brief calls share one reading of the clock, which takes 28 ns.
	callsAtOnce = 8
	// briefLength is the most bytes of the one message that a brief call takes. Posting more
	// can take long: the kernel moves the bytes of a software device during the call.
	briefLength = 4096
)

var (
	turnEpoch = time.Now()
	lastTurn  atomic.Int64 // when any turn of the process ended, after turnEpoch
)

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
	if !endTurn(now, betweenTurns) {
		return false // this turn is over the next time
	}
	t.begun = now
	return true
}

// endTurn ends a turn now, and returns true, if none has ended for a time.
func endTurn(now, after time.Duration) bool {
	last := lastTurn.Load()
	return int64(now)-last >= int64(after) && lastTurn.CompareAndSwap(last, int64(now))
}

// turnOver reports whether other goroutines should run now, after requests were posted where
// that takes long. On a software device a post takes 20 µs and longer, since the kernel moves
// the bytes during the call. A program that posts to many endpoints, one after the other, can
// spend more than a turn on that.
func turnOver() bool { return endTurn(time.Since(turnEpoch), longestTurn) }
