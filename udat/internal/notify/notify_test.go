package notify

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
)

const (
	evd         cgo.EVDHandle = 1
	notifierCNO cgo.CNOHandle = 2
	programCNO  cgo.CNOHandle = 3
	patience                  = 10 * time.Second
)

// fake is an EVD that behaves as that of the library.
type fake struct {
	t *testing.T
	q Queue

	mu        sync.Mutex
	changed   *sync.Cond
	events    int
	longest   int32 // events of the queue
	waiting   bool  // in the library
	waitable  bool
	enabled   bool
	attached  cgo.CNOHandle
	triggered int        // how often the program's CNO was
	refusal   cgo.Return // of enable
}

func newFake(t *testing.T, cno cgo.CNOHandle) *fake {
	f := &fake{t: t, longest: 64, waitable: true, enabled: true, attached: notifierCNO}
	f.changed = sync.NewCond(&f.mu)
	if cno != 0 {
		f.attached = cno
	}
	f.q.Init(&Notifier{cno: notifierCNO, library: &library{
		take: f.take, spin: f.spin, wait: f.wait,
		setUnwaitable:   func(cgo.EVDHandle) cgo.Return { return f.set(func() { f.waitable = false }) },
		clearUnwaitable: func(cgo.EVDHandle) cgo.Return { return f.set(func() { f.waitable = true }) },
		enable:          f.enable, disable: f.disable,
		attach: func(_ cgo.EVDHandle, cno cgo.CNOHandle) cgo.Return { return f.set(func() { f.attached = cno }) },
		resize: func(cgo.EVDHandle, int32) cgo.Return { return cgo.Success.Return() },
	}}, evd, cno)
	return f
}

func (f *fake) post(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events += n
	f.changed.Broadcast()
	f.trigger()
}

// trigger is called with mu held. An event wakes one that waits in the library instead.
func (f *fake) trigger() {
	switch {
	case !f.enabled || f.events == 0 || f.waiting:
	case f.attached == notifierCNO:
		go f.q.wakeAfter(true)
	default:
		f.triggered++
	}
}

func (f *fake) take(_ cgo.EVDHandle, events []cgo.Event) (int, cgo.Return) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(f.events, len(events))
	f.events -= n
	if n < len(events) {
		return n, cgo.QueueEmpty.Return()
	}
	return n, cgo.Success.Return()
}

func (f *fake) spin(evd cgo.EVDHandle, events []cgo.Event, _ time.Duration) (int, cgo.Return) {
	return f.take(evd, events)
}

func (f *fake) wait(evd cgo.EVDHandle, timeout uint32, threshold int32, events []cgo.Event) (int, cgo.Return) {
	f.mu.Lock()
	for f.waitable && f.events < int(threshold) && timeout > 0 {
		f.waiting = true
		f.changed.Wait()
	}
	f.waiting = false
	longest, waitable, enough := f.longest, f.waitable, f.events >= int(threshold)
	f.mu.Unlock()
	switch {
	case threshold > longest:
		return 0, cgo.InvalidParameter.Return()
	case !waitable:
		return 0, unwaitable
	case !enough:
		return 0, cgo.TimeoutExpired.Return()
	}
	return f.take(evd, events)
}

// set changes the EVD.
func (f *fake) set(change func()) cgo.Return {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.changed.Broadcast()
	return cgo.Success.Return()
}

func (f *fake) enable(cgo.EVDHandle) cgo.Return {
	if !f.refusal.OK() {
		return f.refusal
	}
	return f.set(func() { f.enabled = true; f.trigger() })
}

func (f *fake) disable(cgo.EVDHandle) cgo.Return { return f.set(func() { f.enabled = false }) }

// waiters returns how many goroutines wait on the queue.
func (f *fake) waiters() int {
	w := &f.q.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blocker != nil {
		return len(w.parked) + 1
	}
	return len(w.parked)
}

// notifies reports whether events trigger the notifier's CNO.
func (f *fake) notifies() bool {
	f.q.waiters.mu.Lock()
	defer f.q.waiters.mu.Unlock()
	return f.q.waiters.trigger.notifies
}

// spendSlice makes the latest timeslice of the process one that ended long ago.
func spendSlice() { lastSlice.Store(int64(time.Since(processBegun) - 2*longestSlice)) }

// sliceEnded reports whether a timeslice has ended since spendSlice.
func sliceEnded() bool {
	return time.Since(processBegun)-time.Duration(lastSlice.Load()) < longestSlice
}

// result is what a wait has returned.
type result struct {
	events int
	r      cgo.Return
}

// wait begins a wait for up to most events, and returns once the queue has so many waiters.
func (f *fake) begin(ctx context.Context, most, need, waiters int) chan result {
	results := make(chan result, 1)
	go func() {
		raw, r := f.q.Wait(ctx, most, need)
		if len(raw) > 0 {
			f.q.Unlock()
		}
		results <- result{len(raw), r}
	}()
	f.await(func() bool { return f.waiters() == waiters })
	return results
}

func (f *fake) await(done func() bool) {
	f.t.Helper()
	for began := time.Now(); !done(); runtime.Gosched() {
		if time.Since(began) > patience {
			f.t.Fatal("what the test waits for does not happen")
		}
	}
}

func (f *fake) want(results chan result, events int, t cgo.ReturnType) {
	f.t.Helper()
	select {
	case got := <-results:
		if got.events != events || got.r.Type() != t {
			f.t.Errorf("got %d events, %v, instead of %d, %v", got.events, got.r, events, t)
		}
	case <-time.After(patience):
		f.t.Fatalf("%d events, %v: the wait does not end", events, t)
	}
}

// ways calls a test with one waiter that blocks, and with one that is parked behind another. The
// latter waits for more events than come.
func ways(t *testing.T, test func(t *testing.T, f *fake, wait func(ctx context.Context, most, need int) chan result)) {
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	t.Run("blocks", func(t *testing.T) {
		f := newFake(t, 0)
		test(t, f, func(ctx context.Context, most, need int) chan result { return f.begin(ctx, most, need, 1) })
	})
	t.Run("parks", func(t *testing.T) {
		f := newFake(t, 0)
		for range mostBlocking {
			f.q.notifier.acquireThread()
		}
		test(t, f, func(ctx context.Context, most, need int) chan result { return f.begin(ctx, most, need, 1) })
	})
}

func TestEvent(t *testing.T) {
	ways(t, func(t *testing.T, f *fake, wait func(context.Context, int, int) chan result) {
		waited := wait(t.Context(), 4, 1)
		f.post(1)
		f.want(waited, 1, cgo.Success)
		waited = wait(t.Context(), 4, 2)
		f.post(1)
		f.post(1)
		f.want(waited, 2, cgo.Success)
		f.await(func() bool { return f.waiters() == 0 })
	})
}

func TestEndOfContext(t *testing.T) {
	ways(t, func(t *testing.T, f *fake, wait func(context.Context, int, int) chan result) {
		ctx, cancel := context.WithCancel(t.Context())
		waited := wait(ctx, 1, 1)
		cancel()
		f.want(waited, 0, cgo.TimeoutExpired)
		f.post(1)
		if raw, r := f.q.Wait(ctx, 1, 1); len(raw) != 1 {
			t.Errorf("an event that is there is not taken: %v", r)
		} else {
			f.q.Unlock()
		}
	})
}

func TestFree(t *testing.T) {
	ways(t, func(t *testing.T, f *fake, wait func(context.Context, int, int) chan result) {
		waited := wait(t.Context(), 1, 1)
		f.q.Lock()
		refused := f.q.Free(func(evd cgo.EVDHandle) cgo.Return {
			f.disable(evd) // as the library does before it fails
			return cgo.InternalError.Return()
		})
		f.q.Unlock()
		if refused.Type() != cgo.InternalError || !f.q.Enter() {
			t.Fatalf("an EVD that is not freed: %v", refused)
		}
		f.q.Leave()
		f.post(1)
		f.want(waited, 1, cgo.Success)
		waited = wait(t.Context(), 1, 1)
		f.q.Lock()
		freed := f.q.Free(func(cgo.EVDHandle) cgo.Return { return cgo.Success.Return() })
		f.q.Unlock()
		if !freed.OK() || f.q.Enter() {
			t.Errorf("a freed EVD can be entered: %v", freed)
		}
		f.want(waited, 0, cgo.InvalidHandle)
		f.q.wakeAfter(true)
	})
}

// watchedContext counts the functions that it is to call at its end.
type watchedContext struct {
	context.Context
	watching atomic.Int32
}

func (c *watchedContext) Value(any) any { return nil }

func (c *watchedContext) AfterFunc(func()) (stop func() bool) {
	c.watching.Add(1)
	return func() bool { return c.watching.Add(-1) >= 0 }
}

// A context that outlives a queue keeps nothing of it.
func TestFreeForgetsContext(t *testing.T) {
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	f, ctx := newFake(t, 0), &watchedContext{Context: t.Context()}
	waited := f.begin(ctx, 1, 1, 1)
	f.await(func() bool { return ctx.watching.Load() == 1 })
	f.post(1)
	f.want(waited, 1, cgo.Success)
	f.q.Lock()
	f.q.Free(func(cgo.EVDHandle) cgo.Return { return cgo.Success.Return() })
	f.q.Unlock()
	if n := ctx.watching.Load(); n != 0 {
		t.Errorf("the context is to call %d functions for a queue that is freed", n)
	}
}

func TestUnwaitable(t *testing.T) {
	ways(t, func(t *testing.T, f *fake, wait func(context.Context, int, int) chan result) {
		waited := wait(t.Context(), 1, 1)
		set := func(unwaitable bool) {
			f.q.Enter()
			f.q.SetUnwaitable(unwaitable)
			f.q.Leave()
		}
		set(true)
		f.want(waited, 0, cgo.InvalidState)
		if f.waitable {
			t.Error("who was interrupted has made the EVD waitable again")
		}
		if _, r := f.q.Wait(t.Context(), 1, 1); r != unwaitable {
			t.Errorf("a wait begins: %v", r)
		}
		set(false)
		waited = wait(t.Context(), 1, 1)
		f.post(1)
		f.want(waited, 1, cgo.Success)
	})
}

func TestThresholdBeyondQueue(t *testing.T) {
	f := newFake(t, 0)
	if _, r := f.q.Wait(t.Context(), 65, 65); r.Type() != cgo.InvalidParameter && r.Type() != cgo.Success {
		t.Errorf("got %v", r)
	}
}

// A waiter makes way for whoever makes the queue shorter, and is parked only after that.
func TestShorterBeforeParking(t *testing.T) {
	f := newFake(t, 0)
	f.q.waiters.wantLock = 1
	f.q.library.enable = func(evd cgo.EVDHandle) cgo.Return {
		f.set(func() { f.longest = 2 })
		return f.enable(evd)
	}
	results := make(chan result, 1)
	go func() {
		raw, r := f.q.Wait(t.Context(), 10, 10)
		results <- result{len(raw), r}
	}()
	f.want(results, 0, cgo.InvalidParameter)
}

// Whoever wants the lock interrupts the one that blocks, which waits on.
func TestLockBesideWait(t *testing.T) {
	ways(t, func(t *testing.T, f *fake, wait func(context.Context, int, int) chan result) {
		waited := wait(t.Context(), 1, 1)
		for range 100 {
			f.q.Lock()
			if f.q.Handle() == 0 {
				t.Error("the queue is freed")
			}
			f.q.Unlock()
		}
		f.await(func() bool { return f.waiters() == 1 })
		f.post(1)
		f.want(waited, 1, cgo.Success)
	})
}

// A poll leaves the events to the one that blocks.
func TestPollBesideWait(t *testing.T) {
	f := newFake(t, 0)
	waited := f.begin(t.Context(), 1, 1, 1)
	f.await(func() bool { return f.q.notifier.blocking.Load() == 1 })
	if f.q.LockUnlessBlocked() {
		t.Error("a poll gets the lock")
		f.q.Unlock()
	}
	f.post(1)
	f.want(waited, 1, cgo.Success)
}

// Each event wakes one of many, and none is left when the last wake-up is over, though the waiters
// come and go in any order.
func TestManyWaiters(t *testing.T) {
	f := newFake(t, 0)
	var all []chan result
	for i := range 10 {
		all = append(all, f.begin(t.Context(), 1, 1, i+1))
	}
	batch := f.begin(t.Context(), 30, 30, 11)
	f.post(4)
	for range 6 {
		f.post(1)
	}
	for _, waited := range all {
		f.want(waited, 1, cgo.Success)
	}
	f.post(30)
	f.want(batch, 30, cgo.Success)
	f.await(func() bool { // a queue that is polled notifies nobody
		f.post(1)
		f.take(evd, make([]cgo.Event, 2))
		return !f.notifies()
	})
}

// One that blocks for many events makes way for one that waits for a single event.
func TestBatchMakesWay(t *testing.T) {
	f := newFake(t, 0)
	batch := f.begin(t.Context(), 8, 8, 1)
	single := f.begin(t.Context(), 1, 1, 2)
	f.post(1)
	f.want(single, 1, cgo.Success)
	f.post(8)
	f.want(batch, 8, cgo.Success)
}

// A waiter whose wait has ended passes on the wake-up that it got.
func TestEndedWaitPassesOn(t *testing.T) {
	f := newFake(t, 0)
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		blocked := f.begin(t.Context(), 1, 1, 1)
		first := f.begin(ctx, 1, 1, 2)
		second := f.begin(t.Context(), 1, 1, 3)
		go cancel()
		f.post(1)
		f.post(1)
		if got := <-first; got.events == 1 {
			f.post(1)
		}
		f.want(blocked, 1, cgo.Success)
		f.want(second, 1, cgo.Success)
	}
}

// The library refuses to notify: the wait ends, and the next tries again.
func TestRefusedNotification(t *testing.T) {
	f := newFake(t, programCNO)
	for range mostBlocking {
		f.q.notifier.acquireThread()
	}
	f.refusal = cgo.InternalError.Return()
	if _, r := f.q.Wait(t.Context(), 1, 1); r.Type() != cgo.InternalError {
		t.Errorf("got %v", r)
	}
	if f.waiters() != 0 || f.attached != programCNO {
		t.Errorf("%d waiters, attached to %v", f.waiters(), f.attached)
	}
	f.refusal = 0
	waited := f.begin(t.Context(), 1, 1, 1)
	f.post(1)
	f.want(waited, 1, cgo.Success)
}

// The program's CNO is told of no event while goroutines wait, whatever is done with it meanwhile,
// and of those that they leave.
func TestCNOOfTheProgram(t *testing.T) {
	f := newFake(t, programCNO)
	for _, c := range []struct {
		cno      cgo.CNOHandle
		disabled bool
	}{{programCNO, false}, {programCNO, true}, {0, true}, {programCNO, true}, {programCNO, false}, {0, false}, {programCNO, false}} {
		first := f.begin(t.Context(), 1, 1, 1)
		last := f.begin(t.Context(), 1, 1, 2)
		f.q.Enter()
		f.q.Attach(c.cno)
		f.q.SetDisabled(c.disabled)
		f.q.Leave()
		f.mu.Lock()
		before := f.triggered
		f.mu.Unlock()
		f.post(3)
		f.want(first, 1, cgo.Success)
		f.want(last, 1, cgo.Success)
		f.await(func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			told := c.cno != 0 && !c.disabled
			if f.triggered > before && !told {
				t.Fatalf("%+v: the program is told", c)
			}
			return f.enabled == told && (f.triggered > before) == told && (f.attached == programCNO) == (c.cno != 0)
		})
		f.take(evd, make([]cgo.Event, 2))
	}
}

// One that takes fewer events than it has room for leaves no other asleep for good.
func TestRoomForMore(t *testing.T) {
	f := newFake(t, 0)
	for range 100 {
		ended := make(chan result, 3)
		for i, most := range []int{1, 8, 1} {
			waited := f.begin(t.Context(), most, 1, i+1)
			go func() { ended <- <-waited }()
		}
		f.post(2)
		left := cap(ended)
		for taken := 0; taken < 2; left-- {
			taken += (<-ended).events
		}
		for ; left > 0; left-- {
			f.post(1)
			f.want(ended, 1, cgo.Success)
		}
	}
}

// One that waits alone blocks, and the notifier is not told.
func TestLoneWaiterBlocks(t *testing.T) {
	f := newFake(t, 0)
	waited := f.begin(t.Context(), 1, 1, 1)
	f.await(func() bool { return f.q.notifier.blocking.Load() == 1 })
	if f.notifies() || f.enabled {
		t.Error("the notifier is told of events")
	}
	f.post(1)
	f.want(waited, 1, cgo.Success)
}

// An event that nobody was woken for is taken by a wait that its context ends.
func TestEndedWaitTakesWhatIsThere(t *testing.T) {
	ways(t, func(t *testing.T, f *fake, wait func(context.Context, int, int) chan result) {
		for need := 1; need <= 2; need++ {
			ctx, cancel := context.WithCancel(t.Context())
			waited := wait(ctx, 2, need)
			f.mu.Lock()
			f.events += need
			f.mu.Unlock()
			cancel()
			f.want(waited, need, cgo.Success)
		}
	})
}

// panics is a context that panics when it is asked for its end.
type panics struct{ context.Context }

func (panics) Done() <-chan struct{} { panic("Done") }

func TestPanicInContext(t *testing.T) {
	ways(t, func(t *testing.T, f *fake, wait func(context.Context, int, int) chan result) {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("there was no panic")
				}
			}()
			f.q.Wait(panics{t.Context()}, 1, 1)
		}()
		waited := wait(t.Context(), 1, 1)
		f.post(1)
		f.want(waited, 1, cgo.Success)
	})
}

// Those who take events let others run, also if they find some each time.
func TestTakingLetsOthersRun(t *testing.T) {
	f := newFake(t, 0)
	for name, take := range map[string]func() ([]cgo.Event, cgo.Return){
		"Spin": func() ([]cgo.Event, cgo.Return) { return f.q.Spin(2, 0) },
		"Wait": func() ([]cgo.Event, cgo.Return) { return f.q.Wait(t.Context(), 2, 1) },
	} {
		f.await(func() bool { // others end timeslices, too
			f.post(2)
			f.q.slice = timeslice{begun: time.Since(processBegun) - longestSlice}
			spendSlice()
			if raw, r := take(); len(raw) != 2 {
				t.Fatalf("%s: got %d events, %v", name, len(raw), r)
			}
			f.q.Unlock()
			return sliceEnded()
		})
	}
}

// The clock is read again after few short messages, and after anything else at once.
func TestTimeslice(t *testing.T) {
	short := make([]cgo.Event, 1)
	long := make([]cgo.Event, 1)
	long[0].DTO().TransferredLength = briefLength + 1
	for _, c := range []struct {
		taken []cgo.Event
		times int
		over  bool
	}{
		{short, 0, true}, {short, 1, false}, {short, briefAtOnce - 1, false}, {short, briefAtOnce, true},
		{long, 1, true}, {nil, 1, true}, {make([]cgo.Event, 2), 1, true},
	} {
		slice := timeslice{begun: time.Since(processBegun) - longestSlice}
		spendSlice()
		for range c.times {
			slice.count(c.taken)
		}
		if over := slice.over(); over != c.over {
			t.Errorf("after %d times %d events: over %v", c.times, len(c.taken), over)
		}
	}
}

// Spins in vain become rare.
func TestSpinning(t *testing.T) {
	w := &waiters{spinning: spinning{most: time.Second}}
	for spins, waits := 0, 0; ; waits++ {
		if waits == 1000 {
			if spins < 10 || spins > 25 {
				t.Errorf("%d of %d waits spin", spins, waits)
			}
			return
		}
		if w.beginSpin() > 0 {
			spins++
			w.endSpin(false)
		}
	}
}

// A waiter that looks for events while it is parked passes on a wake-up that comes after that.
func TestWakeAfterLook(t *testing.T) {
	f := newFake(t, programCNO)
	for range mostBlocking {
		f.q.notifier.acquireThread()
	}
	f.q.SetSpin(0)
	waited := f.begin(t.Context(), 8, 1, 1)
	f.post(1)
	f.want(waited, 1, cgo.Success) // the queue notifies still
	f.q.library.take = func(evd cgo.EVDHandle, events []cgo.Event) (int, cgo.Return) {
		if f.waiters() == 0 {
			return f.take(evd, events)
		}
		f.set(func() { f.events++ })
		n, r := f.take(evd, events)
		f.post(1)
		f.await(func() bool { return f.waiters() == 0 }) // the one that has looked is woken
		return n, r
	}
	if raw, _ := f.q.Wait(t.Context(), 8, 1); len(raw) == 1 {
		f.q.Unlock()
	}
	f.await(func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.triggered > 0 })
}
