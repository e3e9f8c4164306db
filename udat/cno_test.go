package udat_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func createCNO(t testing.TB, ia *udat.IA, agent func(*udat.EVD), evds ...*udat.EVD) *udat.CNO {
	t.Helper()
	cno, err := udat.CreateCNO(ia, agent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, evd := range evds {
			if err := evd.ModifyCNO(nil); err != nil && !errors.Is(err, udat.ErrClosed) {
				t.Error(err)
			}
		}
		if err := cno.Free(); err != nil && !errors.Is(err, udat.ErrClosed) {
			t.Error(err)
		}
	})
	for _, evd := range evds {
		if err := evd.ModifyCNO(cno); err != nil {
			t.Fatal(err)
		}
	}
	return cno
}

func waitCNO(t testing.TB, cno *udat.CNO) *udat.EVD {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), udattest.Patience)
	defer cancel()
	evd, err := cno.Wait(ctx)
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
		t.Errorf("the notification object gives %p, which should have no events", evd)
	} else {
		want(t, err, context.DeadlineExceeded)
	}
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
				event, err := evd.Dequeue()
				want(t, err)
				for i, e := range evds {
					if e == evd {
						evds = append(evds[:i:i], evds[i+1:]...)
						last = event
						break
					}
				}
			}
			return last
		}
		expect(software)
		wantSilent(t, cno)
		want(t, active.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
		want(t, expectCR(t, expect(listener.Requests)).Accept(passive.EP, nil))
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

func expectCR(t *testing.T, event udat.Event) *udat.CR {
	t.Helper()
	if event.CR() == nil {
		t.Fatalf("got %+v, want a connection request", event)
	}
	return event.CR()
}

// An EVD is given although another goroutine has taken its events meanwhile. Waits on an EVD leave its CNO as it is.
func TestCNOWhenOthersTake(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		for i := range uint64(20) {
			post(t, evd, i)
			wantCookies(t, evd, i)
			waitCNO(t, cno)
			wantNoEvent(t, evd)
			post(t, evd, i)
			if waitCNO(t, cno) != evd {
				t.Error("it is another event dispatcher")
			}
			wantCookies(t, evd, i)
		}
		wantSilent(t, cno)
		for i := range uint64(20) {
			ended := startWaits(udattest.Context(t), evd, 1)
			post(t, evd, i)
			if cookie := wantWaited(t, ended); cookie != i {
				t.Errorf("got the event %d, want %d", cookie, i)
			}
			wantNoEvent(t, evd)
			forget(cno) // the event may have come a moment before the wait
			post(t, evd, i)
			waitCNO(t, cno)
			wantCookies(t, evd, i)
		}
	})
}

func TestCNODisabledEVD(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd, other := createEVD(t, ia, 8, udat.EVDSoftware), createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd, other)
		wantState := func(s udat.EVDState) {
			t.Helper()
			if param, err := evd.Query(); err != nil || param.State != s || param.CNO != cno {
				t.Errorf("the parameters are %+v, %v, want %v", param, err, s)
			}
		}
		wantState(udat.EVDStateEnabled | udat.EVDStateWaitable)
		want(t, evd.Disable())
		wantState(udat.EVDStateDisabled | udat.EVDStateWaitable)
		post(t, evd, 1, 2)
		wantSilent(t, cno)
		post(t, other, 3)
		if waitCNO(t, cno) != other {
			t.Error("a disabled event dispatcher is given")
		}
		wantCookies(t, other, 3)
		// All else works.
		wantCookies(t, evd, 1)
		if event := udattest.Wait(t, evd); event.Cookie != 2 {
			t.Errorf("got %+v", event)
		}
		post(t, evd, 4)

		given := make(chan *udat.EVD)
		go func() { given <- waitCNO(t, cno) }()
		udat.AwaitCNOWaiters(cno, 1)
		want(t, evd.Enable())
		if receive(t, given) != evd {
			t.Error("another event dispatcher is given")
		}
		wantState(udat.EVDStateEnabled | udat.EVDStateWaitable)
		wantCookies(t, evd, 4)
	})
}

func TestCNOWaitHonoursContext(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		_, err := cno.Wait(ctx)
		cancel()
		want(t, err, context.DeadlineExceeded, os.ErrDeadlineExceeded, udat.ErrTimeoutExpired)
		_, err = cno.Wait(ctx)
		want(t, err, context.DeadlineExceeded)
		var none context.Context
		want(t, second(cno.Wait(none)), udat.ErrInvalidParameter)
		post(t, evd, 1)
		if given, err := cno.Wait(ctx); err != nil || given != evd {
			t.Errorf("an event that is there is not given: %v", err)
		}
	})
}

func TestCNOFree(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		cno := createCNO(t, ia, nil, e.Recv, ia.AsyncEVD())
		err := cno.Free()
		want(t, err, udat.ErrInvalidState, udat.InvalidStateCNOInUse)
		for _, name := range []string{"event dispatcher (made at cno_test.go:", "asynchronous event dispatcher"} {
			if err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("the error does not name the %s: %v", name, err)
			}
		}
		want(t, ia.Close(udat.CloseGraceful), udat.ErrInvalidState, udat.InvalidStateIAInUse)
		want(t, ia.AsyncEVD().ModifyCNO(nil))

		// Freeing an EVD detaches it, also one that was given and has events.
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		want(t, evd.ModifyCNO(cno))
		post(t, evd, 1)
		waitCNO(t, cno)
		want(t, evd.Free())
		wantSilent(t, cno)
		want(t, cno.Free(), udat.ErrInvalidState)
		want(t, e.EP.Free())
		want(t, e.Recv.Free())

		done := make(chan error)
		const waiters = 3
		for range waiters {
			go func() { done <- second(cno.Wait(context.Background())) }()
		}
		udat.AwaitCNOWaiters(cno, waiters)
		want(t, cno.Free())
		for range waiters {
			want(t, receive(t, done), udat.ErrClosed, udat.ErrInvalidHandle, udat.InvalidHandleCNO)
		}
		for name, err := range map[string]error{
			"Free":        cno.Free(),
			"Wait":        second(cno.Wait(context.Background())),
			"Query":       second(cno.Query()),
			"ModifyAgent": cno.ModifyAgent(nil),
			"ModifyCNO":   createEVD(t, ia, 8, udat.EVDSoftware).ModifyCNO(cno),
		} {
			t.Run(name, func(t *testing.T) { want(t, err, udat.ErrClosed, udat.ErrInvalidHandle) })
		}
	})
}

// An EVD is on one CNO at a time.
func TestModifyCNO(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		a, b := createCNO(t, ia, nil, evd), createCNO(t, ia, nil)
		post(t, evd, 1)
		if waitCNO(t, a) != evd {
			t.Error("another event dispatcher is given")
		}
		want(t, evd.ModifyCNO(b))
		wantSilent(t, a)
		if waitCNO(t, b) != evd {
			t.Error("another event dispatcher is given")
		}
		want(t, a.Free())
		want(t, evd.ModifyCNO(b))
		if waitCNO(t, b) != evd {
			t.Error("another event dispatcher is given")
		}
		want(t, evd.ModifyCNO(nil))
		wantSilent(t, b)
		want(t, b.Free())
		if param, err := evd.Query(); err != nil || param.CNO != nil {
			t.Errorf("the parameters are %+v, %v", param, err)
		}
		wantCookies(t, evd, 1)

		other := udattest.Open(t, ia.Name())
		foreign := createCNO(t, other, nil)
		want(t, evd.ModifyCNO(foreign), udat.ErrInvalidHandle, udat.InvalidHandleCNO)
	})
}

// Agents that are replaced fast do not pile up.
func TestAgentReplacedOften(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		before := runtime.NumGoroutine()
		called := make(chan int, 8)
		const times = 1000
		for i := range times {
			want(t, cno.ModifyAgent(func(*udat.EVD) { called <- i }))
		}
		if more := runtime.NumGoroutine() - before; more > times/10 {
			t.Errorf("%d goroutines wait for the sake of one agent", more)
		}
		post(t, evd, 1)
		if last := receive(t, called); last != times-1 {
			t.Errorf("the agent %d of %d is called", last, times)
		}
		want(t, cno.ModifyAgent(nil))
		await(t, "the end of the goroutines", func() bool { return runtime.NumGoroutine() <= before })
	})
}

// An agent is called once, also for events that are there already.
func TestCNOAgent(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		called := make(chan *udat.EVD, 8)
		agent := func(evd *udat.EVD) { called <- evd }
		wantCall := func() {
			t.Helper()
			if receive(t, called) != evd {
				t.Error("the agent gets another event dispatcher")
			}
		}
		cno := createCNO(t, ia, agent, evd)
		if param, err := cno.Query(); err != nil || param.IA != ia || param.Agent == nil {
			t.Errorf("the parameters are %+v, %v", param, err)
		}
		udat.AwaitCNOWaiters(cno, 1)
		post(t, evd, 1)
		wantCall()
		if param, err := cno.Query(); err != nil || param.Agent != nil {
			t.Errorf("the parameters are %+v, %v", param, err)
		}
		post(t, evd, 2)
		waitCNO(t, cno) // an agent is called once
		want(t, cno.ModifyAgent(agent))
		post(t, evd, 3)
		wantCall()
		wantCookies(t, evd, 1, 2, 3)

		// One that is replaced is not called.
		want(t, cno.ModifyAgent(func(*udat.EVD) { t.Error("an agent that was replaced is called") }))
		udat.AwaitCNOWaiters(cno, 1)
		want(t, cno.ModifyAgent(agent))
		post(t, evd, 3)
		wantCall()
		wantCookies(t, evd, 3)
		want(t, cno.ModifyAgent(func(*udat.EVD) { t.Error("an agent that was taken away is called") }))
		want(t, cno.ModifyAgent(nil))
		post(t, evd, 4)
		waitCNO(t, cno)
		wantCookies(t, evd, 4)

		forget(cno) // the last agent may have taken an event before it was told of it
		want(t, cno.ModifyAgent(agent))
		udat.AwaitCNOWaiters(cno, 1)
		want(t, cno.ModifyAgent(nil))
		for deadline := time.Now().Add(udattest.Patience); udat.CNOWaiters(cno) > 0; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatal("the goroutines of agents that were taken away live on")
			}
		}
		if len(called) > 0 {
			t.Error("the agent was called more often than asked")
		}
	})
}

// Closing an adapter abruptly takes CNOs along, with the asynchronous EVD on one.
func TestCloseAbruptWithCNO(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			ia, err := udat.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			evd, err := udat.CreateEVD(ia, 8, udat.EVDSoftware)
			want(t, err)
			cno, err := udat.CreateCNO(ia, func(*udat.EVD) { t.Error("the agent is called") })
			want(t, err)
			idle, err := udat.CreateCNO(ia, nil)
			want(t, err)
			want(t, evd.ModifyCNO(cno))
			want(t, ia.AsyncEVD().ModifyCNO(cno))
			done := make(chan error)
			go func() { done <- second(idle.Wait(context.Background())) }()
			udat.AwaitCNOWaiters(idle, 1)
			udat.AwaitCNOWaiters(cno, 1)
			want(t, ia.Close(udat.CloseAbrupt))
			want(t, receive(t, done), udat.ErrClosed)
			want(t, second(cno.Wait(context.Background())), udat.ErrClosed)
		})
	}
}

// An EVD may be attached to a CNO from the start.
func TestCreateEVDWithCNO(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		cno := createCNO(t, ia, nil)
		for _, flags := range []udat.EVDFlags{udat.EVDSoftware, udat.EVDDTO | udat.EVDSoftware, udat.EVDSoftware | udat.EVDConnection} {
			evd, err := udat.CreateEVDWithCNO(ia, 8, cno, flags)
			want(t, err)
			if param, err := evd.Query(); err != nil || param.CNO != cno {
				t.Errorf("the event dispatcher says %+v, %v", param, err)
			}
			want(t, cno.Free(), udat.ErrInvalidState, udat.InvalidStateCNOInUse)
			wantSilent(t, cno)
			post(t, evd, 5)
			if got := waitCNO(t, cno); got != evd {
				t.Errorf("the notification object gives %p, want %p", got, evd)
			}
			udattest.Expect(t, evd, udat.EventSoftware)
			wantSilent(t, cno)
			want(t, evd.Free())
		}
		evd, err := udat.CreateEVDWithCNO(ia, 8, nil, udat.EVDSoftware)
		want(t, err)
		if param, err := evd.Query(); err != nil || param.CNO != nil {
			t.Errorf("the event dispatcher says %+v, %v", param, err)
		}
		want(t, evd.Free())

		_, err = udat.CreateEVDWithCNO(udattest.Open(t, ia.Name()), 8, cno, udat.EVDSoftware)
		want(t, err, udat.ErrInvalidHandle, udat.InvalidHandleCNO)
		want(t, cno.Free())
		_, err = udat.CreateEVDWithCNO(ia, 8, cno, udat.EVDSoftware)
		want(t, err, udat.ErrClosed)
	})
}
