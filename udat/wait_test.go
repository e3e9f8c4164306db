package udat_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

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
		}
	})
}

// An event that is there is given although the context has ended.
func TestWaitPrefersEvent(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
		want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0))
		udattest.Expect(t, passive.Recv, udat.EventDTOCompletion)
		waitForRequest(t, active.Request)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		event, err := active.Request.Wait(ctx)
		want(t, err)
		if event.Cookie != 2 {
			t.Errorf("got %+v", event)
		}
	})
}

// Waits that are cancelled all the time lose no event, and several waiters on
// one EVD get each event once.
func TestWaitLosesNothing(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		const messages = 200
		ctx := udattest.Context(t)
		seen := make(chan uint64, messages)
		var waiters sync.WaitGroup
		for range 3 {
			waiters.Add(1)
			go func() {
				defer waiters.Done()
				for ctx.Err() == nil {
					short, cancel := context.WithTimeout(ctx, time.Millisecond)
					event, err := passive.Recv.Wait(short)
					cancel()
					switch {
					case errors.Is(err, context.DeadlineExceeded):
						continue
					case err != nil:
						if !errors.Is(err, udat.ErrClosed) {
							t.Error(err)
						}
						return
					case event.Cookie == messages:
						return // the mark that ends one waiter
					}
					seen <- event.Cookie
				}
			}()
		}
		count := map[uint64]int{}
		take := func() {
			select {
			case cookie := <-seen:
				count[cookie]++
			case <-ctx.Done():
				t.Fatalf("only %d of %d events came", len(count), messages)
			}
		}
		const window = 8
		for i := range uint64(messages) {
			if i >= window {
				take()
			}
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), i, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), i, 0))
			event := udattest.Expect(t, active.Request, udat.EventDTOCompletion)
			want(t, event.Err())
		}
		for range window {
			take()
		}
		for cookie, n := range count {
			if n != 1 {
				t.Errorf("event %d came %d times", cookie, n)
			}
		}
		for range 3 {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), messages, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), 0, 0))
		}
		waiters.Wait()
	})
}

// A waiting goroutine holds no thread.
func TestManyWaitersFewThreads(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const n = 300
		ctx, cancel := context.WithCancel(context.Background())
		var evds []*udat.EVD
		var waiters sync.WaitGroup
		for range n {
			evd, err := udat.CreateEVD(ia, 8, udat.EVDDTO)
			if err != nil {
				t.Fatal(err)
			}
			evds = append(evds, evd)
			waiters.Add(1)
			go func() {
				defer waiters.Done()
				_, err := evd.Wait(ctx)
				want(t, err, context.Canceled)
			}()
		}
		for _, evd := range evds {
			udat.AwaitWaiter(evd)
		}
		if threads := threads(t); threads >= 32 {
			t.Errorf("%d waiting goroutines use %d threads", n, threads)
		}
		cancel()
		waiters.Wait()
		for _, evd := range evds {
			want(t, evd.Free())
		}
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

// Freeing an EVD wakes who waits on it.
func TestFreeDuringWait(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, flags := range []udat.EVDFlags{udat.EVDDTO, udat.EVDConnection, udat.EVDCR} {
			evd, err := udat.CreateEVD(ia, 8, flags)
			want(t, err)
			done := make(chan error)
			go func() {
				_, err := evd.Wait(context.Background())
				done <- err
			}()
			udat.AwaitWaiter(evd)
			want(t, evd.Free())
			want(t, <-done, udat.ErrClosed, udat.ErrInvalidHandle)
			_, err = evd.Wait(context.Background())
			want(t, err, udat.ErrClosed)
			_, err = evd.Dequeue()
			want(t, err, udat.ErrClosed)
		}
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
		}
		evd, err := udat.CreateEVD(ia, 8, udat.EVDDTO)
		want(t, err)
		defer evd.Free()
		param, err := evd.Query()
		want(t, err)
		if param.QLen < 8 || param.IA != ia || param.Flags != udat.EVDDTO {
			t.Errorf("query gives %+v", param)
		}
		// Endpoints whose completions could overflow it are refused.
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		_, err = udat.CreateEP(ia, pz, evd, evd, nil, nil)
		want(t, err, udat.ErrInsufficientResources)
		if err == nil || !strings.Contains(err.Error(), "room") {
			t.Errorf("the error does not explain itself: %v", err)
		}
	})
}
