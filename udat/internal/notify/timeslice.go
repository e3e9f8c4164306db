package notify

import (
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
)

// A timeslice is the time that a goroutine which takes events has had a processor. Go's runtime takes
// the processor of a goroutine that it has found in C for 10 ms, and then looks for more of them every
// 20 µs, for a millisecond and longer: on a machine whose processors are all in use, at the cost of
// those who take events. A goroutine that lets others run before that is left in peace.
//
// Nothing tells which goroutine calls. Each queue has a timeslice, as if one
// goroutine polled that and no other.
type timeslice struct {
	begun time.Duration // after processBegun
	brief int           // calls since the clock was read, each of which took one short message
}

const (
	// longestSlice is half of the runtime's 10 ms.
	longestSlice = 5 * time.Millisecond

	// betweenSlices is for a goroutine that polls many queues, one after the other: it finds the
	// timeslice of each over. Letting others run for each made a message 5 µs slower, with 1024 of
	// them.
	betweenSlices = time.Millisecond

	// briefAtOnce is how many brief calls share one reading of the clock, which takes 28 ns.
	briefAtOnce = 8
	// briefLength is the most bytes of the message. Posting more
	// can take long: the kernel moves the bytes of a software device during the call.
	briefLength = 4096
)

var (
	processBegun = time.Now()
	lastSlice    atomic.Int64 // when any timeslice of the process ended, after processBegun
)

// count notes a call that took these events.
func (t *timeslice) count(taken []cgo.Event) {
	if t.brief++; len(taken) != 1 || taken[0].DTO().TransferredLength > briefLength {
		t.brief = 0
	}
}

// over reports whether other goroutines should run now. Then another timeslice begins.
func (t *timeslice) over() bool {
	if t.brief%briefAtOnce != 0 {
		return false
	}
	now, last := time.Since(processBegun), lastSlice.Load()
	if now-t.begun < longestSlice || now-time.Duration(last) < betweenSlices || !lastSlice.CompareAndSwap(last, int64(now)) {
		return false
	}
	t.begun = now
	return true
}
