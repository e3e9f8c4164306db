package udat

import (
	"context"
	"runtime"
	"runtime/trace"

	"github.com/goudat/goudat/cgo"
)

// Wait takes one event, and waits for it as long as ctx allows. A goroutine that
// sleeps holds no thread, except for up to 8 on an adapter, each of which is the
// only one that waits on its event dispatcher. Before it sleeps it looks for the
// event a while, see SetWaitSpin. When ctx ends first, the error matches that of the
// context and its cause, and no event is lost; an event that is there already is
// returned even when ctx has ended. Wait allocates no more than Dequeue while waits use
// the same context: the first sleep with another one allocates what watches for its end.
//
// While a goroutine waits, the events are its own: they do not trigger a CNO, and Poll
// and Dequeue may find nothing. Those that the last one leaves trigger the CNO when its wait ends.
//
// In a bubble of testing/synctest a wait that has to end by time never ends: the
// bubble's clock stands still while a goroutine waits for something outside.
//
// It fails with ErrInvalidState after SetUnwaitable, and with ErrClosed when the
// EVD is freed. If the library cannot notify of events, Wait returns its error
// instead of sleeping, and the next Wait tries again.
//
// Implements:
//
//	DAT_RETURN dat_evd_wait(IN DAT_EVD_HANDLE evd_handle,
//	                        IN DAT_TIMEOUT timeout,
//	                        IN DAT_COUNT threshold,
//	                        OUT DAT_EVENT *event,
//	                        OUT DAT_COUNT *n_more)
func (evd *EVD) Wait(ctx context.Context) (Event, error) {
	var events [1]Event
	if n, err := evd.wait(ctx, events[:], 1); n == 0 {
		return Event{}, err
	}
	return events[0], nil
}

// WaitBatch waits until threshold events are there, and takes as many as there
// are then, up to len(events). threshold must be 1 to len(events), and not more
// than the queue holds. When ctx ends first, no event is taken. Otherwise it is
// Wait, and calls the same C function.
func (evd *EVD) WaitBatch(ctx context.Context, events []Event, threshold int) (int, error) {
	if err := evd.object().enter(waitOp, NoSubtype); err != nil {
		return 0, err
	}
	evd.obj.leave()
	switch {
	case len(events) == 0:
		return 0, refuse(waitOp, ErrInvalidParameter, InvalidArg3, "the slice has no room for an event: make it longer")
	case threshold < 1 || threshold > len(events):
		return 0, refuse(waitOp, ErrInvalidParameter, InvalidArg3, "the threshold is %d, make it 1 to %d, since the slice has room for so many events", threshold, len(events))
	}
	return evd.wait(ctx, events, threshold)
}

const waitOp = "dat_evd_wait"

// wait waits until at least need events are there, and takes them.
func (evd *EVD) wait(ctx context.Context, events []Event, need int) (int, error) {
	if err := checkContext(waitOp, ctx); err != nil {
		return 0, evd.object().refused(waitOp, NoSubtype, err)
	}
	if evd == nil {
		return 0, evd.object().enter(waitOp, NoSubtype)
	}
	ended, err := evd.waiters.begin()
	if err != nil {
		return 0, evd.obj.refused(waitOp, NoSubtype, err)
	}
	if n, err := evd.takeAtOnce(events, need); n > 0 || err != nil {
		return n, err
	}
	if need == 1 {
		if n, err := evd.spinBriefly(ctx, events); n > 0 || err != nil {
			return n, err
		}
	}
	evd.ia.counters.Load().sleeps()
	defer trace.StartRegion(ctx, waitOp).End()
	w := newWaiter(need)
	defer w.release()
	w.ended = ended
	for {
		n, led, err := evd.lead(ctx, w, events)
		if !led {
			n, err = evd.sleep(ctx, w, events)
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// spinBriefly looks for events as long as it may: see SetWaitSpin.
func (evd *EVD) spinBriefly(ctx context.Context, events []Event) (n int, err error) {
	most := evd.waiters.beginSpin()
	if most == 0 {
		return 0, nil
	}
	defer func() { evd.waiters.endSpin(n > 0) }() // also if the context panics
	for ; n == 0 && err == nil && most > 0 && ctx.Err() == nil; most -= spinSlice {
		n, err = evd.spinFor(events, min(most, spinSlice))
	}
	return n, err
}

// takeAtOnce takes events if at least need of them are there.
func (evd *EVD) takeAtOnce(events []Event, need int) (int, error) {
	taking, err := evd.beginTaking()
	if !taking || err != nil {
		return 0, err
	}
	defer evd.mu.Unlock()
	return evd.take(events, need)
}

// take is takeAtOnce for a caller that holds mu.
func (evd *EVD) take(events []Event, need int) (int, error) {
	if need == 1 {
		return evd.fill(events)
	}
	raw := evd.scratch(1)
	_, r := cgo.EVDWait(evd.handle, 0, int32(need), &raw[0])
	switch r.Type() {
	case cgo.Success:
		n := evd.decodeAll(events, raw[:1])
		rest, err := evd.fill(events[n:])
		return n + rest, err
	case cgo.TimeoutExpired:
		return 0, nil
	case cgo.InvalidParameter:
		return 0, errThreshold
	case cgo.InvalidState:
		return 0, errUnwaitable
	}
	return 0, check(waitOp, r)
}

// errThreshold is the error of waits for more events than the queue holds.
var errThreshold = refuse(waitOp, ErrInvalidParameter, InvalidArg3, "the threshold is more than the queue holds: lower it, or see Resize")

// lead waits in the library, unless another goroutine waits on the EVD. It holds a thread.
// A short sleep then leaves Go's scheduler alone: in Go's poller, each sleep that left the
// process idle stopped and started the runtime's monitor thread, and a round trip took twice
// as long. It returns no event, and no error, when it is time to look anew. It has not led if
// the caller is to park.
func (evd *EVD) lead(ctx context.Context, w *waiter, events []Event) (n int, led bool, err error) {
	mayWait() // others have the leader return when they need the lock that it holds
	if !evd.ia.notifier.beginBlocking() {
		return 0, false, nil
	}
	defer evd.ia.notifier.endBlocking()
	taking, err := evd.beginTaking()
	if !taking || err != nil {
		return 0, err != nil, err
	}
	defer evd.mu.Unlock()
	if !evd.waiters.beginLeading(w) {
		return 0, false, nil
	}
	leads := true
	defer func() {
		if leads { // the context has panicked
			evd.endLeading()
		}
	}()
	evd.follow(ctx)
	raw := evd.scratch(len(events))
	got, r := 0, cgo.TimeoutExpired.Return()
	if ctx.Err() == nil {
		if evd.turn.over(nil) {
			runtime.Gosched()
		}
		got, r = cgo.EVDWaitBatch(evd.handle, cgo.TimeoutInfinite, int32(w.need), raw)
	}
	evd.endLeading()
	leads = false
	n = evd.decodeAll(events, raw[:got])
	switch {
	case n > 0:
		return n, true, nil
	case r.Subtype() == cgo.InvalidStateEVDUnwaitable || ctx.Err() != nil: // it was told to return
		if n, err = evd.take(events, w.need); n == 0 && err == nil {
			err = evd.ended(ctx, w)
		}
		return n, n > 0 || err != nil || w.need == 1, err
	case r.Type() == cgo.QueueEmpty:
		return 0, true, nil
	case r.Type() == cgo.InvalidParameter:
		return 0, true, errThreshold
	}
	return 0, true, check(waitOp, r)
}

// sleep waits until the notifier, or a leader, wakes the waiter, and looks for events. If others
// were told of some before, it looks before it waits, too.
func (evd *EVD) sleep(ctx context.Context, w *waiter, events []Event) (int, error) {
	ended := ctx.Done() // a context may panic, but not while the waiter is parked
	if err := evd.obj.enter(waitOp, NoSubtype); err != nil {
		return 0, err
	}
	told, err := evd.park(waitOp, w)
	evd.obj.leave()
	if err != nil {
		return 0, err
	}
	n := 0
	if told {
		n, err = evd.takeAtOnce(events, w.need)
	}
	if n == 0 && err == nil {
		mayWait()
		select {
		case <-w.wake:
		case <-ended:
		}
	}
	woken := !evd.waiters.unpark(w)
	if n == 0 && err == nil {
		n, err = evd.takeAtOnce(events, w.need)
	}
	if n == 0 && err == nil {
		err = evd.ended(ctx, w)
	}
	if woken && n == len(events) || err != nil {
		evd.passOn(woken)
	}
	return n, err
}

// begin returns how often waits were ended before, and an error if none may begin.
func (l *waiters) begin() (ended int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unwaitable {
		return 0, errUnwaitable
	}
	return l.ended, nil
}

// ended returns why the wait is to end, nil if it is not.
func (evd *EVD) ended(ctx context.Context, w *waiter) error {
	if ctx.Err() != nil {
		return interrupted(waitOp, ctx)
	}
	l := &evd.waiters
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != w.ended {
		return errUnwaitable
	}
	return nil
}

func checkContext(op string, ctx context.Context) error {
	if ctx == nil {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the context is nil: context.Background is one that never ends")
	}
	return nil
}

// errUnwaitable is the error of waits that SetUnwaitable ended or forbids.
var errUnwaitable = refuse(waitOp, ErrInvalidState, InvalidStateEVDUnwaitable, "the event dispatcher was made unwaitable: ClearUnwaitable takes that back")

// SetUnwaitable ends the waits on the event dispatcher with ErrInvalidState, subtype InvalidStateEVDUnwaitable, and
// lets no more begin until ClearUnwaitable. Events arrive as before, and Dequeue, Poll, SpinPoll and the CNO return
// them.
//
// Implements:
//
//	DAT_RETURN dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) SetUnwaitable() error {
	const op = "dat_evd_set_unwaitable"
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return err
	}
	defer evd.obj.leave()
	l := &evd.waiters
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := check(op, cgo.EVDSetUnwaitable(evd.handle)); err != nil {
		return err
	}
	l.unwaitable = true
	l.ended++
	l.kicked = l.kicked || l.leading // so that ClearUnwaitable lets the leader return first
	wakeAll(&l.parked)
	return nil
}

// ClearUnwaitable allows waits again.
//
// Implements:
//
//	DAT_RETURN dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle)
func (evd *EVD) ClearUnwaitable() error {
	const op = "dat_evd_clear_unwaitable"
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return err
	}
	defer evd.obj.leave()
	l := &evd.waiters
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unwaitable = false
	if l.kicked { // the leader does it when it leaves
		return nil
	}
	return check(op, cgo.EVDClearUnwaitable(evd.handle))
}
