package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Far more asynchronous errors than the library's queue holds leave it working,
// though nobody takes them. The oldest are dropped, and counted.
func TestAsyncErrorFlood(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const bursts, burst = 6, 2000
		evd := ia.AsyncEVD()
		for i := range bursts {
			want(t, udat.ProvokeAsyncErrors(ia, burst))
			await(t, "the errors", func() bool { return udat.EventsSeen(evd) >= (i+1)*burst })
		}
		param, err := evd.Query()
		want(t, err)
		if param.Dropped == 0 {
			t.Error("none of them was dropped")
		}
		for range bursts*burst - int(param.Dropped) {
			event, err := evd.Dequeue()
			if err != nil || event.Number != udat.EventAsyncErrorEVDOverflow {
				t.Fatalf("got %+v, %v", event, err)
			}
		}
		wantNoEvent(t, evd)

		// Later ones arrive, whichever way they are waited for.
		done := make(chan error)
		go func() { done <- second(evd.Wait(udattest.Context(t))) }()
		udat.AwaitWaiter(evd)
		want(t, udat.ProvokeAsyncErrors(ia, 2))
		want(t, receive(t, done))
		cno := createCNO(t, ia, nil, evd)
		if waitCNO(t, cno) != evd {
			t.Error("another event dispatcher is given")
		}
		udattest.Expect(t, evd, udat.EventAsyncErrorEVDOverflow)
		wantNoEvent(t, evd)
		if now, err := evd.Query(); err != nil || now.Dropped != param.Dropped {
			t.Errorf("%d errors were dropped, want %d, %v", now.Dropped, param.Dropped, err)
		}
	})
}
