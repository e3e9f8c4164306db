//go:build linux

package udat_test

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// processorTime returns what the process has used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// wantIdle waits on a context that ends, and fails the test when the process
// has not been idle meanwhile, not even when it tries again. An emulated machine
// counts what its host does for others.
func wantIdle(t *testing.T, wait func(context.Context) error) {
	t.Helper()
	const period = 300 * time.Millisecond
	least := period
	for range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), period)
		before := processorTime(t)
		want(t, wait(ctx), context.DeadlineExceeded)
		cancel()
		if least = min(least, processorTime(t)-before); least < period/5 {
			return
		}
	}
	t.Errorf("%v of waiting used %v of processor time", period, least)
}

// Waiting burns no processor time: on EVDs of each stream, on a CNO, and with
// events around that are not the right ones.
func TestWaitingIsIdle(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		listener := udattest.Listen(t, ia)
		software, mixed := createEVD(t, ia, 8, udat.EVDSoftware), createEVD(t, ia, 8, udat.EVDDTO|udat.EVDSoftware)
		disabled := createEVD(t, ia, 8, udat.EVDSoftware)
		evds := []*udat.EVD{e.Recv, e.Request, e.Connect, listener.Requests, ia.AsyncEVD(), software, mixed}
		cno := createCNO(t, ia, func(*udat.EVD) { t.Error("the agent is called") }, append(evds[:len(evds)-2:len(evds)-2], disabled)...)
		post(t, software, 1)
		post(t, mixed, 1)
		want(t, disabled.Disable())
		post(t, disabled, 1)
		wantIdle(t, func(ctx context.Context) error {
			done := make(chan error)
			for _, evd := range evds {
				go func() { done <- second(evd.WaitBatch(ctx, make([]udat.Event, 2), 2)) }()
			}
			for range evds {
				want(t, receive(t, done), context.DeadlineExceeded)
			}
			return second(cno.Wait(ctx))
		})
		want(t, cno.ModifyAgent(nil))
		wantCookies(t, software, 1)
		wantCookies(t, mixed, 1)
	})
}

// A graceful disconnect waits for requests that do not complete, without a look
// at the events that the program leaves.
func TestGracefulDisconnectIsIdle(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
		want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0))
		udattest.Expect(t, passive.Recv, udat.EventDTOCompletion)
		held := hold(t, active, passive, 3)
		waitForRequest(t, active.Request)
		want(t, active.Disconnect(udat.CloseGraceful))
		wantState(t, active.EP, udat.EPStateDisconnectPending)
		wantIdle(t, func(ctx context.Context) error { return second(passive.Recv.Wait(ctx)) })
		wantState(t, active.EP, udat.EPStateDisconnectPending)
		held.release()
		udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
		for _, cookie := range []uint64{2, 3} {
			if event := udattest.Wait(t, active.Request); event.Cookie != cookie || event.Err() != nil {
				t.Errorf("got %+v", event)
			}
		}
	})
}

// Signals disturb no wait: neither those by which Go's runtime preempts
// goroutines, sent by the thousand, nor one that the program handles.
func TestSignalsDisturbNothing(t *testing.T) {
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGUSR1)
	defer signal.Stop(handled)
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		software := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, software)
		var stop atomic.Bool
		var signals atomic.Int64
		stopped := make(chan bool)
		go func() {
			for ; !stop.Load(); signals.Add(1) {
				for _, s := range []syscall.Signal{syscall.SIGURG, syscall.SIGUSR1} {
					if err := syscall.Kill(syscall.Getpid(), s); err != nil {
						t.Error(err)
					}
				}
				ctx, cancel := context.WithTimeout(context.Background(), 100*time.Microsecond)
				<-ctx.Done()
				cancel()
			}
			stopped <- true
		}()
		for round := 0; round < 3 || signals.Load() < 10; round++ {
			active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
			udattest.ConnectPair(t, listener, active, passive)
			for i := range uint64(100) {
				want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), i, 0))
				want(t, active.PostSend(one(active.Segment(t, 0, 8)), i, 0))
				for _, evd := range []*udat.EVD{active.Request, passive.Recv} {
					if event := udattest.Wait(t, evd); event.Cookie != i || event.Err() != nil {
						t.Fatalf("got %+v", event)
					}
				}
				post(t, software, i)
				waitCNO(t, cno)
				var events [2]udat.Event
				if n, err := software.SpinPoll(events[:], time.Millisecond); n != 1 || err != nil {
					t.Fatalf("got %d events, %v", n, err)
				}
			}
			want(t, active.Disconnect(udat.CloseGraceful))
			udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
			udattest.Expect(t, passive.Connect, udat.EventConnectionDisconnected)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, err := software.Wait(ctx)
		cancel()
		want(t, err, context.DeadlineExceeded)
		stop.Store(true)
		receive(t, stopped)
		receive(t, handled)
	})
}

// An endpoint is idle when all completions are taken.
func TestIdleOnceTaken(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		for range 3 {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0))
		}
		for range 3 {
			udattest.Completion(t, active.Request, 2)
			udattest.Completion(t, passive.Recv, 1)
		}
		for _, e := range []*udattest.Endpoint{active, passive} {
			if s, err := e.GetStatus(); err != nil || !s.RequestIdle || !s.RecvIdle {
				t.Errorf("when all completions are taken the status is %+v, %v", s, err)
			}
		}

		// Those of a connection that is over count no more.
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
		want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0))
		awaitQueued(t, active.Request, 1)
		want(t, active.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
		want(t, active.Reset())
		if s, err := active.GetStatus(); err != nil || !s.RequestIdle {
			t.Errorf("after a reset the status is %+v, %v", s, err)
		}
		udattest.Completion(t, active.Request, 2)
		if s, err := active.GetStatus(); err != nil || !s.RequestIdle {
			t.Errorf("when a completion of the former connection is taken the status is %+v, %v", s, err)
		}
	})
}
