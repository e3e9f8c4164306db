//go:build linux

package udat_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func returnOf(t udat.ReturnType) udat.Return { return udat.Return(udat.ClassError) | udat.Return(t) }

// An endpoint that the library fails to free works as before, and an adapter with it cannot be
// closed until it can be freed.
func TestEPThatCannotBeFreed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, first *udat.IA, calls *failingCalls) {
		ia, err := udat.Open(first.Name())
		want(t, err)
		a, b := udattest.Pair(t, ia, nil)
		calls.epFree.next(always, returnOf(udat.ErrInternalError))
		want(t, a.EP.Free(), udat.ErrInternalError)
		calls.epFree.stop()
		want(t, a.PostRecv(one(a.Segment(t, 0, 8)), 1, 0))
		want(t, b.PostSend(one(b.Segment(t, 0, 8)), 2, 0))
		if event := udattest.Completion(t, a.Recv, 1); event.EP() != a.EP {
			t.Error("the receive names another endpoint")
		}
		calls.epFree.next(always, returnOf(udat.ErrInternalError))
		want(t, ia.Close(udat.CloseAbrupt), udat.ErrInvalidState, udat.InvalidStateIAInUse)
		calls.epFree.wantFailed(t)
		want(t, ia.Close(udat.CloseAbrupt))
		want(t, a.EP.Free(), udat.ErrClosed)
	})
}

// The kernel does not destroy a completion queue while a command for it is in progress,
// which soon ends.
func TestEVDFreeWhileBusy(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		const failures = 4
		for _, flags := range []udat.EVDFlags{udat.EVDDTO, udat.EVDSoftware, udat.EVDConnection} {
			evd := createEVD(t, ia, 8, flags)
			calls.evdFree.next(failures, udat.Return(udat.ErrInternalError))
			want(t, evd.Free())
			calls.evdFree.awaitFailed(t, failures)
		}
	})
}

// Calls on an EVD do not wait for a Free that tries again.
func TestCallsWhileEVDIsBusy(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		defer udat.SetBusyWithin(2 * udattest.Patience)()
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		calls.evdFree.next(always, udat.Return(udat.ErrInternalError))
		freed, posted := make(chan error, 1), make(chan error, 1)
		go func() { freed <- evd.Free() }()
		calls.evdFree.awaitFailed(t, 8) // the pause is longer after each
		go func() { posted <- evd.PostSE(1) }()
		want(t, receive(t, posted))
		calls.evdFree.stop()
		want(t, receive(t, freed))
	})
}

// An EVD that cannot be freed works as before: it has its events, and wakes those who wait.
func TestEVDThatCannotBeFreed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		defer udat.SetBusyWithin(100 * time.Millisecond)()
		waitBothWays(t, func(t *testing.T) {
			evd := createEVD(t, ia, 8, udat.EVDSoftware)
			want(t, evd.SetWaitSpin(0))
			for _, code := range []udat.ReturnType{udat.ErrInternalError, udat.ErrInvalidState} {
				want(t, evd.PostSE(1))
				calls.evdFree.next(always, returnOf(code))
				begin := time.Now()
				want(t, evd.Free(), code)
				if taken := time.Since(begin); taken > udattest.Patience/2 {
					t.Errorf("Free took %v", taken)
				}
				calls.evdFree.wantFailed(t)
				udattest.Expect(t, evd, udat.EventSoftware)
				wantNoEvent(t, evd)

				ended := asleep(t, ia, waitsFor(udattest.Context(t), evd, 3)...)
				calls.evdFree.next(always, returnOf(code))
				want(t, evd.Free(), code)
				calls.evdFree.stop()
				post(t, evd, 2, 2, 2)
				for range 3 {
					want(t, receive(t, ended))
				}
			}
		})
	})
}

// A wait for which the library does not notify of events says so, and the next one works.
func TestWaitAfterEnableFailed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // it parks
		for _, cno := range []*udat.CNO{nil, createCNO(t, ia, nil)} {
			evd := must(udat.CreateEVDWithCNO(ia, 8, cno, udat.EVDSoftware))
			want(t, evd.SetWaitSpin(0))
			calls.evdEnable.next(1, returnOf(udat.ErrInternalError))
			want(t, second(evd.Wait(udattest.Context(t))), udat.ErrInternalError)
			calls.evdEnable.wantFailed(t)
			ended := asleep(t, ia, waitsFor(udattest.Context(t), evd, 1)...)
			post(t, evd, 3)
			want(t, receive(t, ended))
			want(t, evd.Free())
		}
	})
}
