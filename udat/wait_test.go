package udat_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// receive is a receive that has an end.
func receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(udattest.Patience):
		t.Fatal("what the test waits for does not happen")
		panic("not reached")
	}
}

func TestWaitHonoursContext(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		for _, evd := range []*udat.EVD{e.Recv, e.Connect, udattest.Listen(t, ia).Requests, ia.AsyncEVD()} {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			_, err := evd.Wait(ctx)
			cancel()
			want(t, err, context.DeadlineExceeded, os.ErrDeadlineExceeded, udat.ErrTimeoutExpired)

			ctx, cancel = context.WithCancel(context.Background())
			time.AfterFunc(10*time.Millisecond, cancel)
			_, err = evd.Wait(ctx)
			want(t, err, context.Canceled, udat.ErrInterruptedCall)

			_, err = evd.Wait(ctx) // cancelled before it begins
			want(t, err, context.Canceled)

			var none context.Context
			want(t, second(evd.Wait(none)), udat.ErrInvalidParameter)
		}
	})
}

// A goroutine that waits before anything happens gets the event, on each stream,
// although another wait on the same EVD was cancelled a moment ago.
func TestWaitOnEachStream(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		software := createEVD(t, ia, 8, udat.EVDSoftware)
		ctx := udattest.Context(t)
		expect := func(cause func(), evds ...*udat.EVD) (events []udat.Event) {
			t.Helper()
			came := make([]chan udat.Event, len(evds))
			for i, evd := range evds {
				short, cancel := context.WithCancel(ctx)
				cancelled := make(chan error)
				go func() { cancelled <- second(evd.Wait(short)) }()
				udat.AwaitWaiter(evd)
				came[i] = make(chan udat.Event, 1)
				go func() {
					event, err := evd.Wait(ctx)
					want(t, err)
					came[i] <- event
				}()
				udat.AwaitWaiters(evd, 2)
				cancel()
				want(t, receive(t, cancelled), context.Canceled)
			}
			cause()
			for i := range evds {
				events = append(events, receive(t, came[i]))
			}
			return events
		}
		events := expect(func() {
			want(t, active.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
		}, listener.Requests)
		cr := expectCR(t, events[0])
		expect(func() { want(t, cr.Accept(passive.EP, nil)) }, active.Connect, passive.Connect)
		expect(func() {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0))
		}, active.Request, passive.Recv)
		expect(func() { post(t, software, 1) }, software)
		expect(func() { provokeAsyncError(t, ia) }, ia.AsyncEVD())
		expect(func() { want(t, active.Disconnect(udat.CloseAbrupt)) }, active.Connect, passive.Connect)
	})
}

// A waiting goroutine holds no thread, neither while it waits nor when all are
// woken at once.
func TestManyWaitersFewThreads(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		n := fewerOnSIW(t, ia, 1000, 300)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		// Threads that earlier tests have needed stay. Each thread that loses its
		// processor in the library costs another one.
		limit := threads(t) + n/10
		streams := []udat.EVDFlags{udat.EVDSoftware, udat.EVDDTO, udat.EVDConnection}
		evds, outcomes := make([]*udat.EVD, n), make([]chan error, n)
		for i := range evds {
			evds[i], outcomes[i] = createEVD(t, ia, 4, streams[i%len(streams)]), make(chan error, 1)
			go func() { outcomes[i] <- second(evds[i].Wait(ctx)) }()
		}
		wantFewThreads := func() {
			t.Helper()
			if threads := threads(t); threads >= limit {
				t.Errorf("%d goroutines use %d threads", n, threads)
			}
		}
		for _, evd := range evds {
			udat.AwaitWaiter(evd)
		}
		wantFewThreads()
		for i := 0; i < n; i += len(streams) {
			post(t, evds[i], 1)
		}
		for i := 0; i < n; i += len(streams) {
			want(t, receive(t, outcomes[i]))
		}
		wantFewThreads()
		cancel()
		for i := range evds {
			if i%len(streams) != 0 {
				want(t, receive(t, outcomes[i]), context.Canceled)
			}
		}
		wantFewThreads()
	})
}

func threads(t *testing.T) int {
	t.Helper()
	status, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(status)
}

// Freeing an EVD wakes the goroutines that wait on it.
func TestFreeDuringWait(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		for _, flags := range []udat.EVDFlags{udat.EVDDTO, udat.EVDConnection, udat.EVDCR, udat.EVDSoftware, udat.EVDDTO | udat.EVDSoftware} {
			evd, err := udat.CreateEVD(ia, 8, flags)
			want(t, err)
			waits := []func() error{
				func() error { return second(evd.Wait(context.Background())) },
				func() error { return second(evd.Wait(context.Background())) },
				func() error { return second(evd.WaitBatch(context.Background(), make([]udat.Event, 2), 2)) },
				func() (err error) {
					for _, err = range evd.Events(context.Background()) {
					}
					return err
				},
			}
			done := make(chan error)
			for _, wait := range waits {
				go func() { done <- wait() }()
			}
			udat.AwaitWaiters(evd, len(waits))
			want(t, evd.Free())
			for range waits {
				want(t, receive(t, done), udat.ErrClosed, udat.ErrInvalidHandle)
			}
			for _, wait := range waits {
				want(t, wait(), udat.ErrClosed)
			}
			_, err = evd.Dequeue()
			want(t, err, udat.ErrClosed)
		}
	})
}

// An event that comes while its waiter is cancelled goes to the other one, which
// nothing else wakes.
func TestCancelHandsEventOn(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		for i := range uint64(500) {
			patience := udattest.Context(t)
			ctx, cancel := context.WithCancel(patience)
			first, then := make(chan error), make(chan error)
			go func() { first <- second(evd.Wait(ctx)) }()
			udat.AwaitWaiter(evd)
			go func() { then <- second(evd.Wait(patience)) }()
			udat.AwaitWaiters(evd, 2)
			if i%2 == 0 {
				go cancel()
				post(t, evd, i)
			} else {
				post(t, evd, i)
				cancel()
			}
			err := receive(t, first)
			cancel()
			if err == nil {
				post(t, evd, i)
			} else {
				want(t, err, context.Canceled)
			}
			if err := receive(t, then); err != nil {
				t.Fatalf("the event of round %d is lost: %v", i, err)
			}
			wantNoEvent(t, evd)
		}
	})
}

// A wait that ends takes what has come, although nobody has woken it for that yet.
func TestCancelTakesWhatIsThere(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		want(t, evd.SetWaitSpin(0))
		for i := range uint64(100) {
			for threshold := 1; threshold <= 2; threshold++ {
				ctx, cancel := context.WithCancel(udattest.Context(t))
				events := make([]udat.Event, 2)
				done := make(chan error)
				go func() { done <- second(evd.WaitBatch(ctx, events, threshold)) }()
				udat.AwaitWaiter(evd)
				for range threshold {
					post(t, evd, i)
				}
				cancel()
				if err := receive(t, done); err != nil || events[threshold-1].Cookie != i {
					t.Fatalf("round %d, threshold %d: got the error %v and the events %+v", i, threshold, err, events)
				}
			}
		}
	})
}

// A batch comes when it is complete, and not at all when the wait ends first.
func TestWaitBatch(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 16, udat.EVDSoftware)
		patience := udattest.Context(t)
		events := make([]udat.Event, 8)
		wantBatch := func(n int, err error, first uint64, length int) {
			t.Helper()
			want(t, err)
			if n != length {
				t.Errorf("got %d events, want %d", n, length)
			}
			for i := range uint64(n) {
				if events[i].Cookie != first+i {
					t.Errorf("got the cookie %d, want %d", events[i].Cookie, first+i)
				}
			}
		}
		post(t, evd, 1, 2)
		short, cancel := context.WithTimeout(patience, 10*time.Millisecond)
		n, err := evd.WaitBatch(short, events, 3)
		cancel()
		want(t, err, context.DeadlineExceeded, udat.ErrTimeoutExpired)
		if n != 0 {
			t.Errorf("got %d events of an incomplete batch", n)
		}
		post(t, evd, 3)
		n, err = evd.WaitBatch(patience, events, 3)
		wantBatch(n, err, 1, 3)

		// As they come one after the other, only the last one completes it.
		done := make(chan struct{})
		go func() {
			defer close(done)
			n, err := evd.WaitBatch(patience, events, 4)
			wantBatch(n, err, 10, 4)
		}()
		for i := range uint64(4) {
			udat.AwaitWaiter(evd)
			post(t, evd, 10+i)
		}
		receive(t, done)
		wantNoEvent(t, evd)

		// More than the threshold come along, as many as there is room for.
		for i := range uint64(10) {
			post(t, evd, 20+i)
		}
		n, err = evd.WaitBatch(patience, events, 1)
		wantBatch(n, err, 20, 8)
		n, err = evd.WaitBatch(patience, events, 2)
		wantBatch(n, err, 28, 2)

		for _, c := range []struct{ room, threshold int }{{0, 0}, {0, 1}, {8, 0}, {8, -1}, {8, 9}, {17, 17}} {
			_, err := evd.WaitBatch(patience, make([]udat.Event, c.room), c.threshold)
			want(t, err, udat.ErrInvalidParameter, udat.InvalidArg3)
		}
	})
}

// Events that are too few for a goroutine that waits for a batch go to one that waits for
// a single event, and the other way round.
func TestWaitBatchAmongWaiters(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 16, udat.EVDSoftware)
		for range 50 {
			patience := udattest.Context(t)
			batch, single := make(chan error), make(chan error)
			go func() { batch <- second(evd.WaitBatch(patience, make([]udat.Event, 3), 3)) }()
			udat.AwaitWaiter(evd)
			ctx, cancel := context.WithCancel(patience)
			go func() { single <- second(evd.Wait(ctx)) }()
			udat.AwaitWaiters(evd, 2)
			post(t, evd, 1)
			want(t, receive(t, single))
			post(t, evd, 2, 3)
			go func() { single <- second(evd.Wait(ctx)) }()
			want(t, receive(t, single))
			udat.AwaitWaiter(evd)
			go func() { single <- second(evd.Wait(ctx)) }()
			want(t, receive(t, single))
			udat.AwaitWaiters(evd, 1)
			go func() { single <- second(evd.Wait(ctx)) }()
			udat.AwaitWaiters(evd, 2)
			cancel()
			want(t, receive(t, single), context.Canceled)
			post(t, evd, 4, 5, 6)
			want(t, receive(t, batch))
			wantNoEvent(t, evd)
		}
	})
}

func TestUnwaitable(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 16, udat.EVDDTO|udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		ctx := udattest.Context(t)
		waits := []func() error{
			func() error { return second(evd.Wait(ctx)) },
			func() error { return second(evd.WaitBatch(ctx, make([]udat.Event, 2), 2)) },
			func() (err error) {
				for _, err = range evd.Events(ctx) {
				}
				return err
			},
		}
		done := make(chan error)
		for range 2 {
			for _, wait := range waits {
				go func() { done <- wait() }()
			}
			udat.AwaitWaiters(evd, len(waits))
			want(t, evd.SetUnwaitable())
			for range waits {
				want(t, receive(t, done), udat.ErrInvalidState, udat.InvalidStateEVDUnwaitable)
			}
			want(t, evd.SetUnwaitable())
			param, err := evd.Query()
			want(t, err)
			if param.State != udat.EVDStateEnabled|udat.EVDStateUnwaitable {
				t.Errorf("the state is %v", param.State)
			}
			post(t, evd, 1, 2, 3)
			for _, wait := range waits {
				want(t, wait(), udat.ErrInvalidState, udat.InvalidStateEVDUnwaitable)
			}
			if waitCNO(t, cno) != evd {
				t.Error("another event dispatcher is given")
			}
			wantCookies(t, evd, 1)
			var events [1]udat.Event
			if n, err := evd.Poll(events[:]); n != 1 || err != nil || events[0].Cookie != 2 {
				t.Errorf("got %d events, %+v, %v", n, events[0], err)
			}
			want(t, evd.ClearUnwaitable())
			want(t, evd.ClearUnwaitable())
			if event := udattest.Wait(t, evd); event.Cookie != 3 {
				t.Errorf("got %+v", event)
			}
		}
		// A waiter that is too slow to notice has missed no more than the error.
		for i := range uint64(200) {
			go func() { done <- second(evd.Wait(ctx)) }()
			udat.AwaitWaiter(evd)
			want(t, evd.SetUnwaitable())
			want(t, evd.ClearUnwaitable())
			want(t, receive(t, done), udat.InvalidStateEVDUnwaitable)
			post(t, evd, i)
			if event := udattest.Wait(t, evd); event.Cookie != i {
				t.Errorf("got %+v", event)
			}
		}
		want(t, evd.SetUnwaitable())
		want(t, evd.ModifyCNO(nil))
		want(t, evd.Free())
		want(t, waits[0](), udat.ErrClosed)
	})
}

func TestEVDArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, c := range []struct {
			qlen  int
			flags udat.EVDFlags
		}{{0, udat.EVDDTO}, {-1, udat.EVDDTO}, {1 << 30, udat.EVDDTO}, {8, 0}, {8, 0x1000}, {8, udat.EVDAsync}, {8, udat.EVDDTO | udat.EVDConnection}} {
			_, err := udat.CreateEVD(ia, c.qlen, c.flags)
			want(t, err, udat.ErrInvalidParameter)
			wantDetail(t, err)
		}
		evd, err := udat.CreateEVD(ia, 8, udat.EVDDTO)
		want(t, err)
		defer evd.Free()
		param, err := evd.Query()
		want(t, err)
		if param.QLen < 8 || param.IA != ia || param.Flags != udat.EVDDTO {
			t.Errorf("query returns %+v", param)
		}
	})
}
