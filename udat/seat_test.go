//go:build linux

package udat_test

import (
	"context"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// A notification object is told of an event that comes together with one which a goroutine
// waits for.
func TestEventBesideThatOfWaiter(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		woken := waitAsleep(t, evd)
		cno := createCNO(t, ia, nil, evd)
		told := make(chan *udat.EVD, 1)
		go func() { told <- waitCNO(t, cno) }()
		udat.AwaitCNOWaiters(cno, 1)
		want(t, evd.PostSE(1))
		want(t, evd.PostSE(2))
		receive(t, woken)
		if got := receive(t, told); got != evd {
			t.Errorf("the notification object returns %p, want %p", got, evd)
		}
		udattest.Expect(t, evd, udat.EventSoftware)
	})
}

// The agent of an event dispatcher that is left behind in the library does not write to
// the seat any more, whose descriptor soon is that of another file.
func TestSeatOfEVDLeftBehind(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, first *udat.IA, calls *failingCalls) {
		ia := udattest.Open(t, first.Name())
		evd, err := udat.CreateEVD(ia, 8, udat.EVDSoftware)
		want(t, err)
		ended := make(chan error, 1)
		go func() { ended <- second(evd.Wait(udattest.Context(t))) }()
		udat.AwaitWaiter(evd)
		udat.MarkStuck(evd)
		calls.evdFree.next(1, returnOf(udat.ErrInternalError))
		want(t, evd.Free())
		calls.evdFree.wantFailed(t)
		want(t, receive(t, ended), udat.ErrClosed)
		if udat.HasSleeper(evd) {
			t.Error("the agent would write to the file of the seat")
		}
	})
}

// sleepInVain waits on the EVD with a goroutine that sleeps when sleepInVain returns, until end is called.
func sleepInVain(t *testing.T, evd *udat.EVD) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(udattest.Context(t))
	ended := make(chan error, 1)
	go func() { ended <- second(evd.Wait(ctx)) }()
	udat.AwaitWaiter(evd)
	return func() {
		t.Helper()
		cancel()
		want(t, receive(t, ended), context.Canceled)
	}
}

// A wait for connection events that ends without one leaves the queue to the notifier's goroutine.
func TestSeatGivesQueueBack(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		useTwoProcessors(t)
		listener := udattest.Listen(t, ia)
		active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		want(t, active.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
		request := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
		first := waitAsleep(t, active.Connect)
		sleepInVain(t, passive.Connect)()
		want(t, request.CR().Accept(passive.EP, nil))
		if got := receive(t, first).Number; got != udat.EventConnectionEstablished {
			t.Errorf("got %v", got)
		}
		udattest.Expect(t, passive.Connect, udat.EventConnectionEstablished)
	})
}

// A goroutine that waits alone on an event dispatcher needs a file, which is closed soon
// after the wait.
func TestWaitersGiveFilesBack(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		before := openFiles(t)
		for range 3 {
			var woken []<-chan udat.Event
			var evds []*udat.EVD
			for range 3 {
				evd := createEVD(t, ia, 8, udat.EVDSoftware)
				evds, woken = append(evds, evd), append(woken, waitAsleep(t, evd))
			}
			for i, evd := range evds {
				want(t, evd.PostSE(1))
				receive(t, woken[i])
			}
		}
		want(t, awaitFiles(before))
	})
}
