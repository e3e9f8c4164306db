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

var errCause = errors.New("the cause")

// endedContexts are contexts that end soon, and what the error of a wait matches then.
var endedContexts = []struct {
	name    string
	context func() (context.Context, func())
	timeout bool
	matches []error
}{
	{"time-out", func() (context.Context, func()) {
		return withCancel(context.WithTimeout(context.Background(), time.Millisecond))
	}, true, nil},
	{"time-out with a cause", func() (context.Context, func()) {
		return withCancel(context.WithTimeoutCause(context.Background(), time.Millisecond, errCause))
	}, true, []error{errCause}},
	{"deadline in the past, with a cause", func() (context.Context, func()) {
		return withCancel(context.WithDeadlineCause(context.Background(), time.Now().Add(-time.Hour), errCause))
	}, true, []error{errCause}},
	{"time-out without its cause", func() (context.Context, func()) {
		return withCancel(context.WithTimeoutCause(context.Background(), time.Millisecond, nil))
	}, true, nil},
	{"time-out because of a cancellation", func() (context.Context, func()) {
		return withCancel(context.WithTimeoutCause(context.Background(), time.Millisecond, context.Canceled))
	}, true, []error{context.Canceled}},
	{"time-out because of what wraps the time-out", func() (context.Context, func()) {
		return withCancel(context.WithTimeoutCause(context.Background(), time.Millisecond, fmt.Errorf("%w: %w", errCause, context.DeadlineExceeded)))
	}, true, []error{errCause}},
	{"time-out because of what cannot be compared", func() (context.Context, func()) {
		return withCancel(context.WithTimeoutCause(context.Background(), time.Millisecond, causeError{[]string{"a"}}))
	}, true, nil},
	{"cancellation", func() (context.Context, func()) { return cancelled(context.Background(), nil) }, false, nil},
	{"cancellation with a cause", func() (context.Context, func()) { return cancelled(context.Background(), errCause) }, false, []error{errCause}},
	{"cancellation because of a time-out", func() (context.Context, func()) {
		return cancelled(context.Background(), context.DeadlineExceeded)
	}, false, []error{context.DeadlineExceeded}},
	{"cancellation because of another wait's time-out", func() (context.Context, func()) {
		return cancelled(context.Background(), &udat.Error{Op: "dat_evd_wait", Return: udat.Return(udat.ErrTimeoutExpired)})
	}, false, []error{udat.ErrTimeoutExpired, context.DeadlineExceeded, os.ErrDeadlineExceeded}},
	{"cancellation because of a closed connection", func() (context.Context, func()) { return cancelled(context.Background(), net.ErrClosed) }, false, []error{net.ErrClosed}},
	{"cancellation of a parent", func() (context.Context, func()) {
		parent, end := cancelled(context.Background(), errCause)
		child, cancel := context.WithTimeoutCause(parent, time.Hour, errors.New("not this"))
		return child, func() { cancel(); end() }
	}, false, []error{errCause}},
	{"time-out of a parent", func() (context.Context, func()) {
		parent, end := context.WithTimeoutCause(context.Background(), time.Millisecond, errCause)
		child, cancel := context.WithCancelCause(parent)
		return child, func() { cancel(errors.New("not this")); end() }
	}, true, []error{errCause}},
}

func withCancel(ctx context.Context, cancel context.CancelFunc) (context.Context, func()) {
	return ctx, cancel
}

func cancelled(parent context.Context, cause error) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	return ctx, func() { cancel(nil) }
}

// The error of a wait that its context ended matches the error of the context and
// its cause, and is a time-out if the context's error is.
func TestWaitGivesErrorAndCause(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		waits := map[string]func(context.Context) error{
			"Wait":      func(ctx context.Context) error { return second(evd.Wait(ctx)) },
			"WaitBatch": func(ctx context.Context) error { return second(evd.WaitBatch(ctx, make([]udat.Event, 2), 2)) },
			"Events": func(ctx context.Context) (err error) {
				for _, err = range evd.Events(ctx) {
				}
				return err
			},
			"AsyncEVD": func(ctx context.Context) error { return second(ia.AsyncEVD().Wait(ctx)) },
			"CNO.Wait": func(ctx context.Context) error { return second(cno.Wait(ctx)) },
		}
		for _, c := range endedContexts {
			for name, wait := range waits {
				t.Run(c.name+"/"+name, func(t *testing.T) {
					ctx, end := c.context()
					defer end()
					for range 2 { // while it waits, and before it begins
						err := wait(ctx)
						checkEnded(t, ctx, err, c.timeout)
						for _, target := range c.matches {
							want(t, err, target)
						}
					}
				})
			}
		}
	})
}

func checkEnded(t *testing.T, ctx context.Context, err error, timeout bool) {
	t.Helper()
	want(t, err, ctx.Err())
	if cause, ok := context.Cause(ctx).(causeError); ok {
		var got causeError
		if !errors.As(err, &got) || got.why[0] != cause.why[0] {
			t.Errorf("%v does not have the cause %v", err, cause)
		}
	} else {
		want(t, err, context.Cause(ctx))
	}
	var e *udat.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no udat.Error", err)
	}
	if e.Timeout() != timeout {
		t.Errorf("Timeout() of %v is %v", err, e.Timeout())
	}
	if timeout {
		want(t, err, context.DeadlineExceeded, os.ErrDeadlineExceeded, udat.ErrTimeoutExpired)
	} else {
		want(t, err, context.Canceled, udat.ErrInterruptedCall)
	}
}
