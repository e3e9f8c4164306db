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

// An EVD that the library does not free lives on.
func TestEVDThatCannotBeFreed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		calls.evdFree.next(1, udat.Return(udat.ErrInternalError))
		want(t, evd.Free(), udat.ErrInternalError)
		want(t, evd.PostSE(1))
		udattest.Expect(t, evd, udat.EventSoftware)
		want(t, evd.Free())
	})
}
