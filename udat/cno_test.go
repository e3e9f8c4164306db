package udat_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func createCNO(t testing.TB, ia *udat.IA, agent func(*udat.EVD), evds ...*udat.EVD) *udat.CNO {
	t.Helper()
	cno := untilEnd(t, must(udat.CreateCNO(ia, agent)))
	for _, evd := range evds {
		want(t, evd.ModifyCNO(cno))
		t.Cleanup(func() { _ = evd.ModifyCNO(nil) }) // unless it is freed
	}
	return cno
}

func waitCNO(t testing.TB, cno *udat.CNO) *udat.EVD {
	t.Helper()
	evd, err := cno.Wait(udattest.Context(t))
	if err != nil {
		t.Fatalf("waiting for an event dispatcher: %v", err)
	}
	return evd
}

// wantSilent fails the test if the CNO returns an EVD.
func wantSilent(t *testing.T, cno *udat.CNO) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if evd, err := cno.Wait(ctx); err == nil {
		t.Errorf("Wait returns %p, which should have no events", evd)
	} else {
		want(t, err, context.DeadlineExceeded)
	}
}

// A wait whose context ends after the event has come returns it.
func TestCNOEventBeforeEndOfContext(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		for range 50 {
			ctx, cancel := context.WithCancel(udattest.Context(t))
			ended := make(chan error, 1)
			go func() { ended <- second(cno.Wait(ctx)) }()
			runtime.Gosched() // it may wait already or not
			post(t, evd, 1)
			cancel()
			want(t, receive(t, ended))
			udattest.Wait(t, evd)
		}
	})
}

// Events of each stream come through one CNO, whether they are there when the
// EVD is attached or come later.
func TestCNOStreams(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		software := createEVD(t, ia, 8, udat.EVDSoftware)
		post(t, software, 1)
		cno := createCNO(t, ia, nil, listener.Requests, active.Connect, active.Request, passive.Connect, passive.Recv, software, ia.AsyncEVD())

		// expect takes an event of each of the EVDs, in whatever order they come.
		expect := func(evds ...*udat.EVD) (last udat.Event) {
			t.Helper()
			for len(evds) > 0 {
				evd := waitCNO(t, cno)
				last = must(evd.Dequeue())
				evds = slices.DeleteFunc(evds, func(e *udat.EVD) bool { return e == evd })
			}
			return last
		}
		expect(software)
		wantSilent(t, cno)
		want(t, active.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
		want(t, expect(listener.Requests).CR().Accept(passive.EP, nil))
		expect(active.Connect, passive.Connect)
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
		want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0))
		expect(active.Request, passive.Recv)
		post(t, software, 3)
		expect(software)
		provokeAsyncError(t, ia)
		expect(ia.AsyncEVD())
		wantSilent(t, cno)
	})
}

// forget takes what has triggered the CNO.
func forget(cno *udat.CNO) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := cno.Wait(over); err == nil; _, err = cno.Wait(over) {
	}
}

// wantTriggered demands that the EVD has triggered the CNO.
func wantTriggered(t testing.TB, cno *udat.CNO, evd *udat.EVD) {
	t.Helper()
	if waitCNO(t, cno) != evd {
		t.Error("Wait returns another event dispatcher")
	}
}

// Wait returns an EVD although another goroutine has taken its events meanwhile. Waits on an EVD
// leave its CNO as it is.
func TestCNOWhenOthersTake(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		for i := range uint64(20) {
			post(t, evd, i)
			wantCookies(t, evd, i)
			wantTriggered(t, cno, evd)
			ended := asleep(t, ia, waitsFor(udattest.Context(t), evd, 2)...)
			post(t, evd, i, i)
			want(t, receive(t, ended))
			want(t, receive(t, ended))
			forget(cno) // the events may have come a moment before the waits
			post(t, evd, i)
			wantTriggered(t, cno, evd)
			wantCookies(t, evd, i)
			ended = asleep(t, ia, waitsFor(udattest.Context(t), evd, 1)...)
			post(t, evd, i, i) // one more than is waited for
			want(t, receive(t, ended))
			wantTriggered(t, cno, evd)
			wantCookies(t, evd, i)
			forget(cno) // each event may have triggered it
		}
		wantSilent(t, cno)
	})
}

func TestCNODisabledEVD(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		wantDisabled := func(disabled bool) {
			t.Helper()
			if param, err := evd.Query(); err != nil || param.Disabled != disabled || param.Unwaitable || param.CNO != cno {
				t.Errorf("the parameters are %+v, %v, want Disabled %t", param, err, disabled)
			}
		}
		wantDisabled(false)
		want(t, evd.Disable())
		wantDisabled(true)
		post(t, evd, 1, 2)
		want(t, evd.ModifyCNO(cno)) // it stays disabled
		wantSilent(t, cno)
		wantCookies(t, evd, 1) // all else works
		if event := udattest.Wait(t, evd); event.Cookie != 2 {
			t.Errorf("got %+v", event)
		}
		post(t, evd, 4)
		given := make(chan *udat.EVD)
		go func() { given <- waitCNO(t, cno) }()
		awaitCNOWaiters(t, 1)
		want(t, evd.Enable())
		if receive(t, given) != evd {
			t.Error("Wait returns another event dispatcher")
		}
		wantDisabled(false)
	})
}

func TestCNOFree(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		cno := createCNO(t, ia, nil, ia.AsyncEVD())
		// Freeing an EVD detaches it, also one that was given and has events.
		evd := must(udat.CreateEVD(ia, 8, cno, udat.EVDSoftware))
		err := cno.Free()
		want(t, err, udat.ErrInvalidState, udat.InvalidStateCNOInUse)
		for _, name := range []string{"event dispatcher (made at cno_test.go:", "asynchronous event dispatcher"} {
			if err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("the error does not name the %s: %v", name, err)
			}
		}
		post(t, evd, 1)
		wantTriggered(t, cno, evd)
		post(t, evd, 1)
		want(t, evd.Free())
		wantSilent(t, cno)
		want(t, ia.AsyncEVD().ModifyCNO(nil))

		const waiters = 3
		done := make(chan error)
		for range waiters {
			go func() { done <- second(cno.Wait(context.Background())) }()
		}
		awaitCNOWaiters(t, waiters)
		want(t, cno.Free())
		for range waiters {
			want(t, receive(t, done), udat.ErrClosed, udat.ErrInvalidHandle, udat.InvalidHandleCNO)
		}
	})
}

// An EVD is on one CNO at a time, which may be from the start.
func TestModifyCNO(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, flags := range []udat.EVDFlags{udat.EVDSoftware, udat.EVDDTO | udat.EVDSoftware, udat.EVDSoftware | udat.EVDConnection} {
			a, b := createCNO(t, ia, nil), createCNO(t, ia, nil)
			evd := must(udat.CreateEVD(ia, 8, a, flags))
			on := func(cno *udat.CNO) {
				t.Helper()
				if param, err := evd.Query(); err != nil || param.CNO != cno {
					t.Errorf("the event dispatcher says %+v, %v", param, err)
				}
				for _, each := range []*udat.CNO{a, b} {
					if each == cno {
						wantTriggered(t, each, evd)
					} else {
						wantSilent(t, each)
					}
				}
			}
			wantSilent(t, a)
			post(t, evd, 1)
			on(a)
			want(t, evd.ModifyCNO(b))
			on(b)
			want(t, a.Free())
			a = createCNO(t, ia, nil)
			want(t, evd.ModifyCNO(b))
			on(b)
			want(t, evd.ModifyCNO(nil))
			on(nil)
			want(t, b.Free())
			want(t, second(udat.CreateEVD(ia, 8, b, flags)), udat.ErrClosed)
			want(t, evd.Free())
		}
	})
}

// An agent is called once, also for events that are there already.
func TestCNOAgent(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		called := make(chan *udat.EVD, 8)
		agent := func(evd *udat.EVD) { called <- evd }
		not := func(*udat.EVD) { t.Error("an agent that there is no more is called") }
		cno := createCNO(t, ia, agent, evd)
		wantCall := func() {
			t.Helper()
			if param, err := cno.Query(); err != nil || param.IA != ia || param.Agent == nil {
				t.Errorf("the parameters are %+v, %v", param, err)
			}
			post(t, evd, 1)
			if receive(t, called) != evd {
				t.Error("the agent gets another event dispatcher")
			}
			wantCookies(t, evd, 1)
			if param, err := cno.Query(); err != nil || param.Agent != nil {
				t.Errorf("the parameters are %+v, %v", param, err)
			}
		}
		wantCall()
		post(t, evd, 2)
		wantTriggered(t, cno, evd) // an agent is called once
		wantCookies(t, evd, 2)
		forget(cno) // the agent may have taken an event before it was told of it

		// One that is replaced is not called. Those that are replaced fast do not pile up.
		before := runtime.NumGoroutine()
		const times = 1000
		for range times {
			want(t, cno.ModifyAgent(not))
		}
		if more := runtime.NumGoroutine() - before; more > times/10 {
			t.Errorf("%d goroutines wait for the sake of one agent", more)
		}
		awaitCNOWaiters(t, 1)
		want(t, cno.ModifyAgent(agent))
		wantCall()
		want(t, cno.ModifyAgent(not))
		awaitCNOWaiters(t, 1)
		want(t, cno.ModifyAgent(nil))
		awaitCNOWaiters(t, 0)
		post(t, evd, 4)
		wantTriggered(t, cno, evd)
		wantCookies(t, evd, 4)
		if len(called) > 0 {
			t.Error("the agent was called more often than asked")
		}
	})
}

// Either an agent gets an event dispatcher, or those who wait do, also if the agent is taken back
// just then.
func TestCNOAgentTakenBack(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		for i := range uint64(1000) {
			ctx, called := context.WithCancel(udattest.Context(t))
			want(t, cno.ModifyAgent(func(*udat.EVD) { called() }))
			go cno.ModifyAgent(nil)
			post(t, evd, i)
			if _, err := cno.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			called()
			want(t, cno.ModifyAgent(nil))
			wantCookies(t, evd, i)
			forget(cno)
		}
	})
}
