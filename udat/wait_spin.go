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
	evd.waiters.setSpin(most)
	return nil
}

// eagerness decides which waits spin. It is guarded by the lock of the list of waiters.
type eagerness struct {
	most   time.Duration
	pause  int // how many waits sleep at once after a spin in vain
	sleeps int // how many of these are still to come
}

// mostPause keeps the cost of spinning low where it never finds an event.
const mostPause = 63

// spinners counts the goroutines of the process that spin in a wait.
var spinners atomic.Int32

func (l *waiterList) setSpin(most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.eagerness.most = most
}

// beginSpin returns how long a wait may spin at most, 0 if it must not. If it may, the
// caller must call endSpin.
func (l *waiterList) beginSpin() (most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &l.eagerness
	switch {
	case e.most == 0:
		return 0
	case e.sleeps > 0:
		e.sleeps--
		return 0
	case l.singles.Len()+l.batches.Len() > 0:
		return 0
	case int(spinners.Add(1)) < runtime.GOMAXPROCS(0):
		return e.most
	}
	spinners.Add(-1)
	return 0
}

func (l *waiterList) endSpin(found bool) {
	spinners.Add(-1)
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &l.eagerness
	if e.pause = 2*e.pause + 1; found {
		e.pause = 0
	}
	e.pause = min(e.pause, mostPause)
	e.sleeps = e.pause
}

// spin looks for events about as long as it takes to be woken.
func (evd *EVD) spin(ctx context.Context, events []Event, most time.Duration) (n int, err error) {
	left := min(evd.ia.notifier.latency.wake(), most)
	for n == 0 && err == nil && left > 0 && ctx.Err() == nil && !evd.waiters.unwaitable.Load() {
		n, err = evd.spinFor(events, min(left, spinSlice))
		left -= spinSlice
	}
	return n, err
}

// latency is how long recent notifications have taken from the library to the notifier's
// goroutine, or to a goroutine that slept on its seat.
type latency struct{ average atomic.Int64 } // in nanoseconds; of two notes at once, one may be lost

const (
	// leastWake is the least estimate, and that before the first notification.
	leastWake = 20 * time.Microsecond

	// wakeParts is the ratio of the time to be woken to the latency: the provider's thread
	// is woken first. The goroutine that waits runs soon after the notifier's: in a wait
	// for a software event, in which no thread of the provider takes part, both together
	// took 0.6 to 1.0 times the average.
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
