//go:build linux

package udat_test

import (
	"testing"

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
		calls.epFree.stop()
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
			if n := calls.evdFree.stop(); n != failures {
				t.Errorf("%d calls have failed, want %d", n, failures)
			}
		}
	})
}
