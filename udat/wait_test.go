package udat_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// receive is a receive that has an end.
func receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(udattest.Patience):
		t.Fatal("what the test waits for does not happen")
		panic("not reached")
	}
}

// waysToWait returns a call of each method that waits. WaitBatch waits for two events.
func waysToWait(ctx context.Context, evd *udat.EVD) map[string]func() error {
	return map[string]func() error{
		"Wait":      func() error { return second(evd.Wait(ctx)) },
		"WaitBatch": func() error { return second(evd.WaitBatch(ctx, make([]udat.Event, 2), 2)) },
		"Events": func() (err error) {
			for _, err = range evd.Events(ctx) {
			}
			return err
		},
	}
}

// Freeing an EVD wakes the goroutines that wait on it.
func TestFreeDuringWait(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		for _, flags := range []udat.EVDFlags{udat.EVDDTO, udat.EVDConnection, udat.EVDCR, udat.EVDSoftware, udat.EVDDTO | udat.EVDSoftware} {
			evd := must(udat.CreateEVD(ia, 8, nil, flags))
			waits := waysToWait(context.Background(), evd)
			ended := asleep(t, ia, slices.Collect(maps.Values(waits))...)
			want(t, evd.Free())
			for range waits {
				want(t, receive(t, ended), udat.ErrClosed, udat.ErrInvalidHandle)
			}
		}
	})
}

// A batch comes when it is complete, and not at all when the wait ends first.
func TestWaitBatch(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 16, udat.EVDSoftware)
		patience := udattest.Context(t)
		events := make([]udat.Event, 8)
		wantBatch := func(threshold int, first uint64, length int) {
			t.Helper()
			n, err := evd.WaitBatch(patience, events, threshold)
			want(t, err)
			wantEvents(t, events[:n], length, first)
		}
		post(t, evd, 1, 2)
		short, cancel := context.WithTimeout(patience, 10*time.Millisecond)
		n, err := evd.WaitBatch(short, events, 3)
		cancel()
		want(t, err, context.DeadlineExceeded, udat.ErrTimeoutExpired)
		if n != 0 {
			t.Errorf("got %d events of an incomplete batch", n)
		}
		post(t, evd, 3)
		wantBatch(3, 1, 3)

		// As they come one after the other, only the last one completes it.
		ended := asleep(t, ia, func() error { wantBatch(4, 10, 4); return nil })
		post(t, evd, 10, 11, 12, 13)
		want(t, receive(t, ended))
		udattest.NoEvent(t, evd)

		// More than the threshold come along, as many as there is room for.
		for i := range uint64(10) {
			post(t, evd, 20+i)
		}
		wantBatch(1, 20, 8)
		wantBatch(2, 28, 2)

		for _, c := range []struct{ room, threshold int }{{0, 0}, {0, 1}, {8, 0}, {8, -1}, {8, 9}, {17, 17}} {
			want(t, second(evd.WaitBatch(patience, make([]udat.Event, c.room), c.threshold)), udat.ErrInvalidParameter, udat.InvalidArg3)
		}
	})
}

func TestUnwaitable(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 16, udat.EVDDTO|udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		ctx := udattest.Context(t)
		waits := waysToWait(ctx, evd)
		ended := asleep(t, ia, slices.Collect(maps.Values(waits))...)
		want(t, evd.SetUnwaitable())
		for range waits {
			want(t, receive(t, ended), udat.ErrInvalidState, udat.InvalidStateEVDUnwaitable)
		}
		want(t, evd.SetUnwaitable())
		if param := must(evd.Query()); param.Disabled || !param.Unwaitable {
			t.Errorf("the state is %v", param)
		}
		post(t, evd, 1, 2)
		for _, wait := range waits {
			want(t, wait(), udat.ErrInvalidState, udat.InvalidStateEVDUnwaitable)
		}
		// All else works.
		wantTriggered(t, cno, evd)
		wantCookies(t, evd, 1)
		want(t, evd.ClearUnwaitable())
		want(t, evd.ClearUnwaitable())
		if event := udattest.Wait(t, evd); event.Cookie != 2 {
			t.Errorf("got %+v", event)
		}
		// A waiter that is too slow to notice has missed no more than the error.
		for i := range uint64(200) {
			ended := asleep(t, ia, waits["Wait"])
			want(t, evd.SetUnwaitable())
			want(t, evd.ClearUnwaitable())
			want(t, receive(t, ended), udat.InvalidStateEVDUnwaitable)
			post(t, evd, i)
			if event := udattest.Wait(t, evd); event.Cookie != i {
				t.Errorf("got %+v", event)
			}
		}
		want(t, evd.SetUnwaitable())
		want(t, evd.ModifyCNO(nil))
		want(t, evd.Free())
		want(t, waits["Wait"](), udat.ErrClosed)
	})
}

func TestEVDArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr, _, err := ia.Query()
		want(t, err)
		for _, c := range []struct {
			qlen  int
			flags udat.EVDFlags
		}{{0, udat.EVDDTO}, {-1, udat.EVDDTO}, {attr.MaxEVDQLen + 1, udat.EVDDTO}, {8, 0}, {8, 0x1000}, {8, udat.EVDAsync}, {8, udat.EVDDTO | udat.EVDConnection}} {
			_, err := udat.CreateEVD(ia, c.qlen, nil, c.flags)
			want(t, err, udat.ErrInvalidParameter)
			wantDetail(t, err)
		}
		if param := must(createEVD(t, ia, 8, udat.EVDDTO).Query()); param.QLen < 8 || param.IA != ia || param.Flags != udat.EVDDTO {
			t.Errorf("query returns %+v", param)
		}
	})
}

// causeError is a cause that cannot be compared.
type causeError struct{ why []string }

func (e causeError) Error() string { return fmt.Sprint("because of ", e.why) }

// The error of a wait that its context ended matches the error of the context and
// its cause, and is a time-out if the context's error is.
func TestWaitGivesErrorAndCause(t *testing.T) {
	cause := errors.New("the cause")
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		var none context.Context
		want(t, second(evd.Wait(none)), udat.ErrInvalidParameter)
		want(t, second(cno.Wait(none)), udat.ErrInvalidParameter)
		for _, c := range []struct {
			cause   error
			timeout bool
			also    error // what the error matches besides
		}{
			{nil, true, nil},
			{cause, true, cause},
			{context.Canceled, true, context.Canceled},
			{fmt.Errorf("%w: %w", cause, context.DeadlineExceeded), true, cause},
			{causeError{[]string{"a"}}, true, nil},
			{nil, false, nil},
			{cause, false, cause},
			{context.DeadlineExceeded, false, context.DeadlineExceeded},
			{&udat.Error{Op: "dat_evd_wait", Return: udat.Return(udat.ErrTimeoutExpired)}, false, os.ErrDeadlineExceeded},
			{net.ErrClosed, false, net.ErrClosed},
		} {
			ctx, cancel := context.WithTimeoutCause(context.Background(), time.Millisecond, c.cause)
			matches := []error{context.DeadlineExceeded, os.ErrDeadlineExceeded, udat.ErrTimeoutExpired}
			if !c.timeout {
				parent, end := context.WithCancelCause(context.Background())
				time.AfterFunc(time.Millisecond, func() { end(c.cause) })
				ctx, cancel = context.WithCancel(parent)
				matches = []error{context.Canceled, udat.ErrInterruptedCall}
			}
			if c.also != nil {
				matches = append(matches, c.also)
			}
			waits := waysToWait(ctx, evd)
			waits["asynchronous"] = func() error { return second(ia.AsyncEVD().Wait(ctx)) }
			waits["CNO"] = func() error { return second(cno.Wait(ctx)) }
			for name, wait := range waits {
				err := wait()
				want(t, err, matches...)
				var e *udat.Error
				if !errors.As(err, &e) || e.Timeout() != c.timeout {
					t.Errorf("%s: Timeout() of %v is not %v", name, err, c.timeout)
				}
				var incomparable causeError
				if _, is := c.cause.(causeError); is && !errors.As(err, &incomparable) {
					t.Errorf("%s: %v does not have its cause", name, err)
				}
			}
			cancel()
		}
		// What is there already is given, although the context has ended.
		over, cancel := context.WithCancel(context.Background())
		cancel()
		post(t, evd, 1)
		if given, err := cno.Wait(over); err != nil || given != evd {
			t.Errorf("an event dispatcher with an event is not given: %v", err)
		}
		want(t, second(evd.Wait(over)))
	})
}
