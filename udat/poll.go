package udat

import (
	"runtime"
	"time"

	"github.com/goudat/goudat/cgo"
)

const dequeueOp = "dat_evd_dequeue"

// Dequeue takes one event without waiting. It fails with ErrQueueEmpty when
// there is none. It does not allocate, except for a connection request and for
// a connection event with private data.
//
//	Implements: DAT_RETURN dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle, OUT DAT_EVENT *event)
func (evd *EVD) Dequeue() (Event, error) {
	var events [1]Event
	n, err := evd.poll(events[:])
	if n > 0 {
		return events[0], nil
	}
	if err == nil {
		err = errQueueEmpty
	}
	return Event{}, err
}

// errQueueEmpty is shared: an empty queue is no news, and polling must not allocate.
var errQueueEmpty = &Error{Op: dequeueOp, Return: classError | Return(ErrQueueEmpty)}

// Poll takes as many events as there are, up to len(events), without waiting,
// and returns their number, 0 if there are none. It calls dat_evd_dequeue in C
// as often as it takes, and allocates no more than Dequeue.
func (evd *EVD) Poll(events []Event) (int, error) {
	if len(events) == 0 {
		return 0, evd.refuseEmptySlice()
	}
	return evd.poll(events)
}

// MaxSpin is the longest time that SpinPoll spins.
const MaxSpin = time.Second

// spinSlice is how long one crossing spins. The lock of the EVD is held
// meanwhile, which the binding's own work on it and Free wait for, and nobody sees
// that a wait is to end. A crossing in vain takes 84 ns in all, 0.2 % of that; a
// slice of a millisecond made Go's monitor thread look as often.
const spinSlice = 50 * time.Microsecond

// SpinPoll is Poll that looks again and again for up to budget, 0 to MaxSpin,
// while there is no event. It spins in C, up to 50 µs in one call, and keeps a
// processor busy with that.
func (evd *EVD) SpinPoll(events []Event, budget time.Duration) (int, error) {
	switch {
	case len(events) == 0:
		return 0, evd.refuseEmptySlice()
	case budget < 0 || budget > MaxSpin:
		return 0, evd.object().refused(dequeueOp, NoSubtype, refuse(dequeueOp, ErrInvalidParameter, InvalidArg2, "the time to spin is %v, it must be 0 to %v", budget, MaxSpin))
	}
	for {
		slice := min(budget, spinSlice)
		budget -= slice
		n, err := evd.spinFor(events, slice)
		if n > 0 || err != nil || budget == 0 {
			return n, err
		}
	}
}

func (evd *EVD) refuseEmptySlice() error {
	return evd.object().refused(dequeueOp, NoSubtype, refuse(dequeueOp, ErrInvalidParameter, InvalidArg2, "the slice has no room for an event: make it longer"))
}

// poll takes what is there.
func (evd *EVD) poll(events []Event) (int, error) {
	taking, err := evd.beginTaking()
	if !taking || err != nil {
		return 0, err
	}
	defer evd.mu.Unlock()
	return evd.fill(events)
}

// beginTaking takes mu for a call that takes events, and reports false if another goroutine
// waits in the library, which gets the events that come. It does not enter the gate: Free
// needs mu, too.
func (evd *EVD) beginTaking() (taking bool, err error) {
	if evd == nil {
		return false, evd.object().enter(dequeueOp, NoSubtype)
	}
	if !evd.lockToTake() {
		return false, nil
	}
	if evd.handle != 0 {
		return true, nil
	}
	evd.mu.Unlock()
	return false, evd.object().refused(dequeueOp, NoSubtype, evd.obj.freed(dequeueOp, NoSubtype))
}

// spinFor is poll, but while nothing is there it looks again until the time is over. It
// lets other goroutines run if this one has spun for long.
func (evd *EVD) spinFor(events []Event, time time.Duration) (int, error) {
	n, over, err := evd.spinInTurn(events, time)
	if over {
		runtime.Gosched()
	}
	return n, err
}

// spinInTurn is spinFor, but it returns whether other goroutines should run now.
func (evd *EVD) spinInTurn(events []Event, time time.Duration) (n int, over bool, err error) {
	taking, err := evd.beginTaking()
	if !taking || err != nil {
		return 0, err == nil, err
	}
	defer evd.mu.Unlock()
	if time <= 0 {
		n, err = evd.fill(events)
	} else {
		raw := evd.scratch(len(events))
		got, r := cgo.EVDSpin(evd.handle, raw, time)
		n, err = evd.decodeAll(events, raw[:got]), checkDequeue(r)
	}
	return n, err == nil && evd.turn.over(events[:n]), err
}

// fill takes events until events is full or no more are there. The caller holds mu.
func (evd *EVD) fill(events []Event) (n int, err error) {
	for n < len(events) {
		raw := evd.scratch(len(events) - n)
		got, r := cgo.EVDDequeueBatch(evd.handle, raw)
		n += evd.decodeAll(events[n:], raw[:got])
		if !r.OK() {
			return n, checkDequeue(r)
		}
	}
	return n, nil
}

// decodeAll returns how many of the events the program may see. The caller holds mu.
func (evd *EVD) decodeAll(events []Event, raw []cgo.Event) (n int) {
	for i := range raw {
		if evd.decode(&raw[i], &events[n]) {
			n++
		}
	}
	return n
}

// checkDequeue is check for calls that end when the queue is empty.
func checkDequeue(r cgo.Return) error {
	if r.Type() == cgo.QueueEmpty {
		return nil
	}
	return check(dequeueOp, r)
}

// scratch returns room for up to n events of the library, at least one. The caller holds mu.
func (evd *EVD) scratch(n int) []cgo.Event {
	const least, most = 16, 1024 // a crossing adds 2 ns to each of 16
	if n > len(evd.raw) && len(evd.raw) < most {
		evd.raw = make([]cgo.Event, min(max(n, least), most))
	}
	return evd.raw[:min(n, len(evd.raw))]
}
