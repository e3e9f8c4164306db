package udat_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

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
