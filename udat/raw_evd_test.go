package udat_test

import (
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// What udat does in another way is in the raw layer nevertheless.
func TestRawEVD(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		wantReturn := func(r, want cgo.Return) {
			t.Helper()
			if r.Type() != want.Type() || r.Subtype() != want.Subtype() {
				t.Errorf("got %v, want %v", r, want)
			}
		}
		success := cgo.Success.Return()
		evd, r := cgo.EVDCreate(udat.RawIA(ia), 4, 0, cgo.EVDSoftware)
		wantReturn(r, success)
		defer func() { wantReturn(cgo.EVDFree(evd), success) }()

		wantReturn(cgo.EVDPostSE(evd, cgo.EventDTOCompletion, 1), cgo.InvalidParameter.Return()|cgo.Return(cgo.InvalidArg2))
		for i := range uint64(3) {
			wantReturn(cgo.EVDPostSE(evd, cgo.EventSoftware, 1<<40+i), success)
		}
		var event cgo.Event
		wantEvent := func(n uint64, more, wantMore int32) {
			t.Helper()
			if event.Number != cgo.EventSoftware || event.EVD != evd || uint64(event.Software().Pointer) != 1<<40+n || more != wantMore {
				t.Errorf("got %+v and %d more, want the event %d and %d more", event, more, n, wantMore)
			}
		}
		more, r := cgo.EVDWait(evd, cgo.TimeoutInfinite, 3, &event)
		wantReturn(r, success)
		wantEvent(0, more, 2)
		more, r = cgo.EVDWait(evd, 1000, 3, &event)
		wantReturn(r, cgo.TimeoutExpired.Return())
		if more != 2 {
			t.Errorf("%d events are queued, want 2", more)
		}

		wantReturn(cgo.EVDSetUnwaitable(evd), success)
		var param cgo.EVDParam
		wantReturn(cgo.EVDQuery(evd, cgo.EVDFieldAll, &param), success)
		if want := cgo.EVDStateEnabled | cgo.EVDStateUnwaitable; param.State != want {
			t.Errorf("the state is %v, want %v", param.State, want)
		}
		_, r = cgo.EVDWait(evd, 0, 1, &event)
		wantReturn(r, cgo.InvalidState.Return()|cgo.Return(cgo.InvalidStateEVDUnwaitable))
		wantReturn(cgo.EVDClearUnwaitable(evd), success)
		more, r = cgo.EVDWait(evd, 0, 1, &event)
		wantReturn(r, success)
		wantEvent(1, more, 1)

		events := make([]cgo.Event, 4)
		n, r := cgo.EVDSpin(evd, events, time.Second)
		wantReturn(r, cgo.QueueEmpty.Return())
		if event = events[0]; n != 1 {
			t.Errorf("got %d events, want 1", n)
		}
		wantEvent(2, 0, 0)
		begin := time.Now()
		n, r = cgo.EVDSpin(evd, events, 5*time.Millisecond)
		wantReturn(r, cgo.QueueEmpty.Return())
		if spent := time.Since(begin); n != 0 || spent < 5*time.Millisecond {
			t.Errorf("got %d events after %v", n, spent)
		}
		// Any other length would damage it.
		wantReturn(cgo.EVDResize(evd, param.QLen), success)
	})
}
