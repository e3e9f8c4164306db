package udat_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// useTwoProcessors has waits spin, which one processor is not enough for.
func useTwoProcessors(t *testing.T) {
	if before := runtime.GOMAXPROCS(0); before != 2 {
		runtime.GOMAXPROCS(2)
		t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	}
}

// spinningWait begins a wait on a new event dispatcher, which spins when this
// returns, and does for longer than a test waits.
func spinningWait(t *testing.T, ia *udat.IA, ctx context.Context) (*udat.EVD, <-chan error) {
	evd := createEVD(t, ia, 8, udat.EVDSoftware)
	udat.SpinFor(evd, 10*udattest.Patience)
	done := make(chan error, 1)
	go func() {
		_, err := evd.Wait(ctx)
		done <- err
	}()
	await(t, "a goroutine that spins", func() bool { return udat.Spinners() > 0 })
	return evd, done
}

// What ends a wait ends it while it spins too.
func TestSpinningWaitEnds(t *testing.T) {
	useTwoProcessors(t)
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		ends := map[string]struct {
			by   func(*udat.EVD, context.CancelFunc) error
			with []error
		}{
			"event":      {func(evd *udat.EVD, _ context.CancelFunc) error { return evd.PostSE(1) }, nil},
			"context":    {func(_ *udat.EVD, cancel context.CancelFunc) error { cancel(); return nil }, []error{context.Canceled}},
			"free":       {func(evd *udat.EVD, _ context.CancelFunc) error { return evd.Free() }, []error{udat.ErrClosed}},
			"unwaitable": {func(evd *udat.EVD, _ context.CancelFunc) error { return evd.SetUnwaitable() }, []error{udat.ErrInvalidState, udat.InvalidStateEVDUnwaitable}},
		}
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				evd, done := spinningWait(t, ia, ctx)
				want(t, end.by(evd, cancel))
				want(t, receive(t, done), end.with...)
				if n := udat.Spinners(); n != 0 {
					t.Errorf("%d goroutines spin after the wait", n)
				}
			})
		}
	})
}

// While one goroutine spins others sleep, and each gets its event.
func TestOneWaitSpins(t *testing.T) {
	useTwoProcessors(t)
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd, first := spinningWait(t, ia, context.Background())
		second := make(chan error, 1)
		go func() {
			_, err := evd.Wait(context.Background())
			second <- err
		}()
		udat.AwaitWaiter(evd)
		if n := udat.Spinners(); n > 1 {
			t.Errorf("%d goroutines spin", n)
		}
		post(t, evd, 1, 2)
		want(t, receive(t, first))
		want(t, receive(t, second))
	})
}

func TestSetWaitSpin(t *testing.T) {
	useTwoProcessors(t)
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		for _, most := range []time.Duration{-1, udat.MaxSpin + 1} {
			want(t, evd.SetWaitSpin(most), udat.ErrInvalidParameter, udat.InvalidArg2)
		}
		// Never, however long it would take to be woken.
		want(t, evd.SetWaitSpin(0))
		udat.SetLatency(ia, udattest.Patience)
		done := make(chan error, 1)
		go func() {
			_, err := evd.Wait(context.Background())
			done <- err
		}()
		udat.AwaitWaiter(evd)
		post(t, evd, 1)
		want(t, receive(t, done))
		want(t, evd.Free())
		want(t, evd.SetWaitSpin(0), udat.ErrClosed)
		want(t, (*udat.EVD)(nil).SetWaitSpin(0), udat.ErrInvalidHandle)
	})
}
