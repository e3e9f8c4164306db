package udat

import (
	"context"
	"slices"
	"sync"

	"github.com/goudat/goudat/cgo"
)

// Wait takes one event, and waits for it as long as ctx allows. A waiting
// goroutine holds no thread. When ctx ends first, the error matches that of the
// context, and no event is lost; an event that is there already is given even
// when ctx has ended. Wait does not allocate beyond what Dequeue does.
//
// Implements:
//
//	DAT_RETURN dat_evd_wait(IN DAT_EVD_HANDLE evd_handle,
//	                        IN DAT_TIMEOUT timeout,
//	                        IN DAT_COUNT threshold,
//	                        OUT DAT_EVENT *event,
//	                        OUT DAT_COUNT *n_more)
func (evd *EVD) Wait(ctx context.Context) (Event, error) {
	const op = "dat_evd_wait"
	for {
		var event Event
		if found, err := evd.take(op, &event); found || err != nil {
			return event, err
		}
		if err := evd.await(op, ctx.Done(), nil); err != nil {
			if err == errStopped {
				err = interrupted(op, context.Cause(ctx))
			}
			return Event{}, err
		}
	}
}

// errStopped says that a wait's stop channel was closed.
var errStopped = &Error{Op: "dat_evd_wait", Return: cgo.ClassError | Return(ErrInterruptedCall)}

// await returns nil when there may be an event, or when something is received
// from also; errStopped when stop is closed; and ErrClosed when the EVD is freed.
// The caller must not hold the gate: a freed EVD waits for it.
func (evd *EVD) await(op string, stop, also <-chan struct{}) error {
	w := evd.waiters.add()
	defer evd.waiters.remove(w)
	ready, err := evd.arm(op)
	if err != nil || ready {
		return err
	}
	select {
	case <-w.wake:
		return nil
	case <-also:
		return nil
	case <-stop:
		return errStopped
	case <-evd.closing:
		return evd.obj.freed(op, NoSubtype)
	}
}

// arm asks the library for a notification of the next event. It reports true
// when there are events already.
func (evd *EVD) arm(op string) (ready bool, err error) {
	if err := evd.object().enter(op, NoSubtype); err != nil {
		return false, err
	}
	defer evd.obj.leave()
	evd.mu.Lock()
	defer evd.mu.Unlock()
	n, r := cgo.EVDArm(evd.handle, evd.cno, evd.agent, evd.raw[:])
	if !r.OK() && r.Type() != ErrQueueEmpty {
		return false, check(op, r)
	}
	evd.drain(n, r)
	return !evd.backlog.empty(), nil
}

// wakeAll lets every waiter look again. Which of them gets an event is decided
// by the lock of the EVD; the others wait on.
func (evd *EVD) wakeAll() { evd.waiters.wakeAll() }

// waiter is one goroutine that waits on an EVD.
type waiter struct {
	wake chan struct{} // holds one wake-up, so that none is missed before the waiter blocks
}

var waiterPool = sync.Pool{New: func() any { return &waiter{wake: make(chan struct{}, 1)} }}

// waiterList holds the goroutines that wait on an EVD.
type waiterList struct {
	mu   sync.Mutex
	list []*waiter
}

func (l *waiterList) add() *waiter {
	w := waiterPool.Get().(*waiter)
	l.mu.Lock()
	l.list = append(l.list, w)
	l.mu.Unlock()
	return w
}

func (l *waiterList) remove(w *waiter) {
	l.mu.Lock()
	i := slices.Index(l.list, w)
	l.list = slices.Delete(l.list, i, i+1)
	l.mu.Unlock()
	select {
	case <-w.wake: // a wake-up that came too late must not reach the next user
	default:
	}
	waiterPool.Put(w)
}

func (l *waiterList) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.list {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}
