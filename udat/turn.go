package udat

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A turn is the time that a goroutine which spins has had a processor. Go's
// runtime takes the processor of a goroutine that it has found in C for 10 ms,
// and then looks for more of them every 20 µs, for a millisecond and longer: on
// a machine whose processors are all in use, at the cost of those who spin.
// A goroutine that lets others run before that is left in peace.
type turn struct {
	begun atomic.Int64 // nanoseconds after turnEpoch
	calls atomic.Uint32
}

const (
	// longestTurn is half of the runtime's 10 ms.
	longestTurn = 5 * time.Millisecond

	// callsAtOnce is after how many calls that have found something the clock is
	// read, which takes 28 ns.
	callsAtOnce = 8
)

var turnEpoch = time.Now()

// called lets other goroutines run if the turn was long.
func (t *turn) called(found int) {
	if found > 0 && t.calls.Add(1)%callsAtOnce != 0 {
		return
	}
	now := time.Since(turnEpoch)
	if now-time.Duration(t.begun.Load()) < longestTurn {
		return
	}
	t.begun.Store(int64(now))
	runtime.Gosched()
}
