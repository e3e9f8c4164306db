package devicetest

import (
	"math"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// waitOutcome is how a wait has ended.
type waitOutcome struct {
	event cgo.Event
	more  int32
	cgo.Return
}

// startWait has another thread wait on an EVD without events, and returns when it does: nothing else can be taken then.
func startWait(t *testing.T, evd cgo.EVDHandle, timeout uint32, threshold int32) <-chan waitOutcome {
	t.Helper()
	ended := make(chan waitOutcome, 1)
	wait := func() {
		var o waitOutcome
		o.more, o.Return = cgo.EVDWait(evd, timeout, threshold, &o.event)
		ended <- o
	}
	go wait()
	deadline := time.Now().Add(udattest.Patience)
	for cgo.EVDDequeue(evd, new(cgo.Event)).Type() == cgo.QueueEmpty {
		if time.Now().After(deadline) {
			t.Fatal("the wait does not begin")
		}
		select {
		case <-ended: // its time was over before this thread has seen that it has begun
			go wait()
		default:
			runtime.Gosched()
		}
	}
	return ended
}

func waitEnd(t *testing.T, ended <-chan waitOutcome) waitOutcome {
	t.Helper()
	select {
	case o := <-ended:
		return o
	case <-time.After(udattest.Patience):
		t.Fatal("the wait does not end")
		panic("not reached")
	}
}

// Events that a wait leaves trigger the CNO when it ends, in whatever way. Those that it takes do not, and a look leaves the
// CNO alone.
func TestCNOAfterWait(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		cno := a.newCNO(t)
		const timeout = 100 * 1000 // us
		for _, flags := range []cgo.EVDFlags{cgo.EVDSoftware, cgo.EVDSoftware | cgo.EVDDTO} {
			evd := a.newEVD(t, queueLength, cno, flags)
			post := func(cookies ...uint64) {
				for _, cookie := range cookies {
					success(t, "EVDPostSE", cgo.EVDPostSE(evd, cgo.EventSoftware, cookie))
				}
			}
			// take expects the trigger for an event that a wait has left, and takes it.
			take := func(cookie uint64) {
				t.Helper()
				a.wantTriggered(t, cno, evd)
				if event := dequeue(t, evd); event.Data[0] != cookie {
					t.Errorf("got the event %d, want %d", event.Data[0], cookie)
				}
			}
			for range 3 {
				ended := startWait(t, evd, timeout, 2)
				post(1)
				outcome(t, "EVDWait", waitEnd(t, ended).Return, cgo.TimeoutExpired, cgo.NoSubtype)
				take(1)

				ended = startWait(t, evd, cgo.TimeoutInfinite, 2)
				post(2)
				success(t, "EVDSetUnwaitable", cgo.EVDSetUnwaitable(evd))
				outcome(t, "EVDWait", waitEnd(t, ended).Return, cgo.InvalidState, cgo.InvalidStateEVDUnwaitable)
				success(t, "EVDClearUnwaitable", cgo.EVDClearUnwaitable(evd))
				take(2)

				post(2) // there before the wait, and taken by nobody meanwhile
				a.wantTriggered(t, cno, evd)
				var event cgo.Event
				_, r := cgo.EVDWait(evd, timeout, 2, &event)
				outcome(t, "EVDWait", r, cgo.TimeoutExpired, cgo.NoSubtype)
				take(2)

				ended = startWait(t, evd, cgo.TimeoutInfinite, 2)
				post(3, 4)
				o := waitEnd(t, ended)
				success(t, "EVDWait", o.Return)
				if o.event.Data[0] != 3 || o.more != 1 {
					t.Errorf("got the event %d and %d more, want 3 and 1", o.event.Data[0], o.more)
				}
				a.wantTriggered(t, cno, evd)
				_, r = cgo.EVDWait(evd, 0, 2, &o.event) // a look
				outcome(t, "EVDWait", r, cgo.TimeoutExpired, cgo.NoSubtype)
				a.wantTriggered(t, cno)
				if event := dequeue(t, evd); event.Data[0] != 4 {
					t.Errorf("got the event %d, want 4", event.Data[0])
				}

				ended = startWait(t, evd, math.MaxUint32-1, 1) // the longest time-out, which is not over at once
				post(5)
				success(t, "EVDWait", waitEnd(t, ended).Return)
				a.wantTriggered(t, cno)
			}
		}
	})
}

// So do completions, and those that come later, of which the wait's own request for a notification tells nobody.
func TestCNOAfterWaitForCompletions(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		evd, cno := passive.recv.EVDHandle, passive.recv.cno
		cookie := uint64(0)
		send := func() {
			t.Helper()
			cookie++
			passive.postRecv(t, cookie)
			active.deliver(t, cookie)
		}
		take := func() {
			t.Helper()
			a.wantTriggered(t, cno, evd)
			dequeueCookie(t, evd, cookie)
		}
		const timeout = 200 * 1000 // us
		for range 5 {
			ended := startWait(t, evd, cgo.TimeoutInfinite, 1)
			send()
			success(t, "EVDWait", waitEnd(t, ended).Return)
			send()
			take()

			ended = startWait(t, evd, timeout, 2)
			send()
			outcome(t, "EVDWait", waitEnd(t, ended).Return, cgo.TimeoutExpired, cgo.NoSubtype)
			take()
			send()
			take()
		}
	})
}

// A wait ends when its time is over, however often it is woken before by completions that are not enough.
func TestWaitLimit(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		for _, withCNO := range []bool{false, true} {
			own := parts{}
			if !withCNO {
				own.recv = a.newEVD(t, queueLength, 0, cgo.EVDDTO)
			}
			passive := a.makeEndpoint(t, own)
			active := a.newPeer(t, passive)
			const messages = 8
			for cookie := range uint64(messages) {
				passive.postRecv(t, cookie)
			}
			ended := startWait(t, passive.recv.EVDHandle, waitLimit, messages)
			outcome(t, "EVDWait", endDuring(t, ended, messages-1, func(i uint64) {
				active.deliver(t, i)
			}), cgo.TimeoutExpired, cgo.NoSubtype)
			disconnect(t, active, passive)
		}
	})
}

// So does one on a CNO, if another takes what has triggered it.
func TestCNOWaitLimit(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		cno := a.newCNO(t)
		evd := a.newEVD(t, queueLength, cno, cgo.EVDSoftware)
		ended := make(chan waitOutcome, 1)
		go func() {
			runtime.LockOSThread() // for good: the thread ends with the goroutine
			giveWay(t)
			for { // the wait may be the first to take it nevertheless
				_, r := cgo.CNOWait(cno, waitLimit)
				if !r.OK() {
					ended <- waitOutcome{Return: r}
					return
				}
			}
		}()
		outcome(t, "CNOWait", endDuring(t, ended, 20, func(i uint64) {
			success(t, "EVDPostSE", cgo.EVDPostSE(evd, cgo.EventSoftware, i))
			_, _ = cgo.CNOWait(cno, 0)
			success(t, "EVDDequeue", cgo.EVDDequeue(evd, new(cgo.Event)))
		}), cgo.QueueEmpty, cgo.NoSubtype)
	})
}

// giveWay has the thread run when no other wants its processor.
func giveWay(t *testing.T) {
	const schedIdle = 5
	var priority int32
	if _, _, err := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, schedIdle, uintptr(unsafe.Pointer(&priority))); err != 0 {
		t.Errorf("sched_setscheduler: %v", err)
	}
}

const waitLimit = 500 * 1000 // us

// endDuring returns how a wait has ended that is woken twice in its time, up to a number of times.
func endDuring(t *testing.T, ended <-chan waitOutcome, times int, wake func(i uint64)) cgo.Return {
	t.Helper()
	ticker := time.NewTicker(waitLimit / 2 * time.Microsecond)
	defer ticker.Stop()
	for i := range uint64(times) {
		select {
		case o := <-ended:
			return o.Return
		case <-ticker.C:
			wake(i)
		}
	}
	t.Error("the wait has not ended in its time")
	return waitEnd(t, ended).Return
}

// lateEnd makes waits return late that are over.
const lateEnd = `
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
	int result = LIBC(pthread_cond_timedwait)(condition, mutex, until);

	if (result == ETIMEDOUT)
		usleep(200000);
	return result;
}
`

// What triggers a CNO when the time of a wait is over is found by that wait, or by the next one.
func TestCNOTriggeredAtTheEnd(t *testing.T) {
	preloaded(t, lateEnd, func(t *testing.T, a *adapter) {
		cno := a.newCNO(t)
		evd := a.newEVD(t, queueLength, cno, cgo.EVDSoftware)
		waited := make(chan cgo.Return, 1)
		go func() {
			_, r := cgo.CNOWait(cno, 10_000)
			waited <- r
		}()
		time.Sleep(50 * time.Millisecond) // the wait has begun, which nothing tells
		success(t, "EVDPostSE", cgo.EVDPostSE(evd, cgo.EventSoftware, 1))
		if !(<-waited).OK() {
			_, r := cgo.CNOWait(cno, 0)
			success(t, "CNOWait", r)
		}
		success(t, "EVDDequeue", cgo.EVDDequeue(evd, new(cgo.Event)))
	})
}

// ownUnlock ends the process when a thread unlocks what it has not locked.
const ownUnlock = `
int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (mutex->__data.__owner != gettid())
		abort();
	return LIBC(pthread_mutex_unlock)(mutex);
}
`

// A wait that is refused for its arguments leaves the lock of the EVD, which another thread may have.
func TestRefusedWait(t *testing.T) {
	preloaded(t, ownUnlock, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDSoftware)
		for _, threshold := range []int32{0, queueLength + 1} {
			_, r := cgo.EVDWait(q.EVDHandle, 0, threshold, new(cgo.Event))
			outcome(t, "EVDWait", r, cgo.InvalidParameter, cgo.InvalidArg3)
		}
	})
}

// setClock moves the clock of the machine.
func setClock(t *testing.T, by time.Duration) {
	t.Helper()
	var now syscall.Timeval
	do(t, syscall.Gettimeofday(&now))
	now.Sec += int64(by / time.Second)
	do(t, syscall.Settimeofday(&now))
}

// Time-outs last as long as they say, also if somebody sets the clock meanwhile.
func TestTimeoutsBesideSetClock(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	const timeout = 300 * time.Millisecond
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		cno := a.newCNO(t)
		evd := a.newEVD(t, queueLength, 0, cgo.EVDSoftware)
		l := a.listen(t)
		for _, by := range []time.Duration{-time.Hour, time.Hour} {
			e, begin := a.newEndpoint(t), time.Now()
			lasts := func(what string) {
				t.Helper()
				if took := time.Since(begin); took < timeout {
					t.Errorf("with the clock set by %v, %s took %v", by, what, took)
				}
			}
			a.startConnect(t, l, e, uint32(timeout/time.Microsecond))
			onEVD, onCNO := startWait(t, evd, uint32(timeout/time.Microsecond), 1), make(chan waitOutcome, 1)
			go func() {
				_, r := cgo.CNOWait(cno, uint32(timeout/time.Microsecond))
				onCNO <- waitOutcome{Return: r}
			}()
			setClock(t, by)
			restore := sync.OnceFunc(func() { setClock(t, -by) })
			t.Cleanup(restore)
			outcome(t, "EVDWait", waitEnd(t, onEVD).Return, cgo.TimeoutExpired, cgo.NoSubtype)
			lasts("EVDWait")
			outcome(t, "CNOWait", waitEnd(t, onCNO).Return, cgo.QueueEmpty, cgo.NoSubtype)
			lasts("CNOWait")
			e.connect.expect(t, cgo.EventConnectionTimedOut)
			lasts("the attempt")
			restore()
		}
		l.rejectAll(t)
	})
}

// Connections end without delay, also if somebody sets the clock meanwhile.
func TestEndsBesideSetClock(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		for _, by := range []time.Duration{-time.Hour, time.Hour} {
			for _, flags := range []cgo.CloseFlags{cgo.CloseGraceful, cgo.CloseAbrupt} {
				active, passive := a.connectedPair(t)
				late := flags == cgo.CloseGraceful && !a.iwarp // which ends a connection without a receive
				if late {
					active.send(t, 1, cgo.CompletionDefault)
				}
				active.end(t, flags)
				setClock(t, by)
				restore := sync.OnceFunc(func() { setClock(t, -by) })
				t.Cleanup(restore)
				if late { // the end waits for the message
					passive.postRecv(t, 1)
				}
				wantDisconnected(t, active, passive)
				restore()
			}
		}
	})
}
