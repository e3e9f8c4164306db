package udat

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// DefaultWaitSpin is the longest time that Wait spins before it sleeps, unless
// SetWaitSpin sets another one.
const DefaultWaitSpin = 500 * time.Microsecond

// SetWaitSpin sets how long Wait, or WaitBatch with a threshold of 1, may look
// for an event before it sleeps, from 0 for never to MaxSpin.
//
// Sleeping costs at least two context switches. So Wait first spins briefly in
// C, about as long as a recent wake-up took on the adapter: usually some 20 µs,
// and never longer than the limit. It backs off when spinning does not help,
// down to one of 64 waits, until a spin finds an event. It does not spin while
// another goroutine waits on the event dispatcher, while all processors but one
// spin in waits, or when GOMAXPROCS is 1.
func (evd *EVD) SetWaitSpin(most time.Duration) error {
	const op = waitOp
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return err
	}
	defer evd.obj.leave()
	if most < 0 || most > MaxSpin {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the time to spin is %v, it must be 0 to %v", most, MaxSpin)
	}
	evd.eagerness.most.Store(int64(most))
	return nil
}

// eagerness decides which waits spin.
type eagerness struct {
	most   atomic.Int64 // nanoseconds
	pause  atomic.Int32 // waits that sleep at once, after the last in vain
	sleeps atomic.Int32 // of them, those to come
}

// mostPause makes the spinning of waits that are always in vain cost little.
const mostPause = 63

// spinners counts the goroutines of the process that spin in a wait.
var spinners atomic.Int32

// begin reports whether a wait is to spin, and then must end.
func (e *eagerness) begin(others *waiterList) bool {
	if e.most.Load() == 0 || e.sleeps.Load() > 0 && e.sleeps.Add(-1) >= 0 || others.takers() {
		return false
	}
	if int(spinners.Add(1)) < runtime.GOMAXPROCS(0) {
		return true
	}
	spinners.Add(-1)
	return false
}

func (e *eagerness) end(found bool) {
	spinners.Add(-1)
	pause := int32(0)
	if !found {
		pause = min(2*e.pause.Load()+1, mostPause)
	}
	e.pause.Store(pause)
	e.sleeps.Store(pause)
}

// spin looks for events about as long as it takes to be woken.
func (evd *EVD) spin(ctx context.Context, events []Event) (n int, err error) {
	left := min(evd.ia.notifier.latency.wake(), time.Duration(evd.eagerness.most.Load()))
	for n == 0 && err == nil && left > 0 && ctx.Err() == nil && !evd.waiters.unwaitable.Load() {
		n, err = evd.poll(events, min(left, spinSlice))
		left -= spinSlice
	}
	if err == nil {
		evd.turn.called(n)
	}
	return n, err
}

// latency is how long notifications have lately taken from the library to the
// binding's goroutine.
type latency struct{ average atomic.Int64 } // in nanoseconds, written by one goroutine

const (
	// leastWake is the time to be woken as long as nothing is known.
	leastWake = 20 * time.Microsecond

	// wakeParts is how many times the latency it takes to be woken: the provider's
	// thread is woken first. The goroutine that waits comes soon after the one for
	// notifications: in a wait for a software event, which no such thread has a part
	// in, both took 0.6 to 1.0 times the average.
	wakeParts = 2

	// latencyWeight of old values makes the average forget a slow one soon.
	latencyWeight = 8
)

func (l *latency) note(age time.Duration) {
	age = min(age, DefaultWaitSpin) // a machine that stood still is not remembered
	if average := l.average.Load(); average > 0 {
		age = (time.Duration(average)*(latencyWeight-1) + age) / latencyWeight
	}
	l.average.Store(int64(age))
}

// wake estimates how long it takes to be woken.
func (l *latency) wake() time.Duration {
	return max(time.Duration(wakeParts*l.average.Load()), leastWake)
}
