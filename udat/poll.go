package udat

import (
	"cmp"
	"time"
	"unsafe"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/notify"
)

const dequeueOp = "dat_evd_dequeue"

// Dequeue takes one event without waiting. It fails with ErrQueueEmpty if there is none. Only
// connection requests and private data make it allocate.
//
//	Implements: DAT_RETURN dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle, OUT DAT_EVENT *event)
func (evd *EVD) Dequeue() (event Event, err error) {
	switch {
	case evd == nil:
		return Event{}, objectOf(evd).unusable(dequeueOp, NoSubtype)
	case !evd.queue.LockUnlessBlocked(): // a goroutine that waits in the library gets what comes
		return Event{}, errQueueEmpty
	}
	events := (*[1]Event)(unsafe.Pointer(&event))[:] // in place: a copy costs as much as the lock
	raw := evd.queue.Scratch(1)
	r := cgo.EVDDequeue(evd.queue.Handle(), &raw[0])
	for r == 0 && evd.decode(events, raw) == 0 {
		r = cgo.EVDDequeue(evd.queue.Handle(), &raw[0])
	}
	evd.queue.Unlock() // without a defer: see shadow.Assert
	if r != 0 {
		return Event{}, cmp.Or(evd.checkTake(r), errQueueEmpty)
	}
	return event, nil
}

// errQueueEmpty is shared, so that polling does not allocate.
var errQueueEmpty error = &Error{Op: dequeueOp, Return: classError | Return(ErrQueueEmpty)}

// Poll takes up to len(events) events without waiting and returns their number. It calls
// dat_evd_dequeue in C, and allocates no more than Dequeue.
func (evd *EVD) Poll(events []Event) (int, error) {
	switch {
	case evd == nil:
		return 0, objectOf(evd).unusable(dequeueOp, NoSubtype)
	case len(events) == 0:
		return 0, evd.refuseEmptySlice()
	case !evd.queue.LockUnlessBlocked(): // see Dequeue
		return 0, nil
	}
	n, r := evd.take(events)
	evd.queue.Unlock() // without a defer: see shadow.Assert
	if n > 0 {
		return n, nil
	}
	return 0, evd.checkTake(r)
}

// maxSpin is the longest time that SpinPoll spins.
const maxSpin = time.Second

// SpinPoll is Poll that tries for up to budget, 0 to a second, until there is an event. It spins in
// C, up to 50 µs in a call, and keeps a processor busy.
func (evd *EVD) SpinPoll(events []Event, budget time.Duration) (int, error) {
	switch {
	case evd == nil:
		return 0, objectOf(evd).unusable(dequeueOp, NoSubtype)
	case len(events) == 0:
		return 0, evd.refuseEmptySlice()
	case budget < 0 || budget > maxSpin:
		if err := evd.obj.usable(dequeueOp, NoSubtype); err != nil {
			return 0, err
		}
		return 0, refuse(dequeueOp, ErrInvalidParameter, InvalidArg2, "the time to spin is %v, it must be 0 to %v", budget, maxSpin)
	}
	for n := 0; ; {
		slice := min(budget, notify.MostSpin)
		budget -= slice
		raw, r := evd.queue.Spin(len(events), slice)
		if len(raw) > 0 {
			n = evd.decode(events, raw)
			evd.queue.Unlock()
		}
		if n > 0 || !r.OK() || budget == 0 {
			return n, evd.checkTake(r)
		}
	}
}

func (evd *EVD) refuseEmptySlice() error {
	if err := objectOf(evd).usable(dequeueOp, NoSubtype); err != nil {
		return err
	}
	return refuse(dequeueOp, ErrInvalidParameter, InvalidArg2, "the slice has no room for an event: make it longer")
}

// take takes events until events is full or no more are there. The caller has locked the queue.
func (evd *EVD) take(events []Event) (n int, r cgo.Return) {
	for n < len(events) && r == 0 {
		raw := evd.queue.Scratch(len(events) - n)
		got := 0
		got, r = cgo.EVDDequeueBatch(evd.queue.Handle(), raw)
		n += evd.decode(events[n:], raw[:got])
	}
	return n, r
}

// checkTake is check for a call that takes events: an empty queue is no error.
func (evd *EVD) checkTake(r cgo.Return) error {
	if r.OK() || r.Type() == cgo.QueueEmpty {
		return nil
	}
	return evd.obj.check(dequeueOp, NoSubtype, r)
}
