package udat_test

import (
	"context"
	"runtime"
	"slices"
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
	udat.AwaitSpinner()
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

// Spinning that is in vain becomes rare, and one success makes it usual again.
func TestWaitSpinsWhileItPays(t *testing.T) {
	useTwoProcessors(t)
	count := func(spun []bool) (n int) {
		for _, s := range spun {
			if s {
				n++
			}
		}
		return n
	}
	const waits = 640
	if n := count(udat.Spins(waits, false)); n != waits/64 {
		t.Errorf("%d of %d waits spin in vain", n, waits)
	}
	if n := count(udat.Spins(waits, true)); n != waits {
		t.Errorf("%d of %d waits spin though each pays", n, waits)
	}
	runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(2)
	if n := count(udat.Spins(waits, true)); n != 0 {
		t.Errorf("%d of %d waits spin on the only processor", n, waits)
	}
}

// How long waking takes follows what it has lately taken, and neither a machine
// that stood still nor the first moment makes it unreasonable.
func TestEstimatedWake(t *testing.T) {
	slow, fast := slices.Repeat([]time.Duration{200 * time.Microsecond}, 50), slices.Repeat([]time.Duration{time.Microsecond}, 50)
	for _, c := range []struct {
		name        string
		ages        []time.Duration
		least, most time.Duration
	}{
		{"nothing known", nil, 20 * time.Microsecond, 20 * time.Microsecond},
		{"one", []time.Duration{100 * time.Microsecond}, 200 * time.Microsecond, 200 * time.Microsecond},
		{"always slow", slow, 399 * time.Microsecond, 400 * time.Microsecond},
		{"always fast", fast, 20 * time.Microsecond, 20 * time.Microsecond},
		{"slow, then fast", slices.Concat(slow, fast), 20 * time.Microsecond, 30 * time.Microsecond},
		{"fast, then slow", slices.Concat(fast, slow), 385 * time.Microsecond, 400 * time.Microsecond},
		{"stood still once", append(fast, time.Hour), 100 * time.Microsecond, 150 * time.Microsecond},
	} {
		if got := udat.EstimatedWake(c.ages...); got < c.least || got > c.most {
			t.Errorf("%s: waking is thought to take %v, want %v to %v", c.name, got, c.least, c.most)
		}
	}
}
