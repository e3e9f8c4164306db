//go:build linux

package udat_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// processorTime returns what the process has used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// wantIdle waits on a context that ends, and fails the test when the process
// has not been idle meanwhile, not even when it tries again. An emulated machine
// counts what its host does for others.
func wantIdle(t *testing.T, wait func(context.Context) error) {
	t.Helper()
	const period = 300 * time.Millisecond
	least := period
	for range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), period)
		before := processorTime(t)
		want(t, wait(ctx), context.DeadlineExceeded)
		cancel()
		if least = min(least, processorTime(t)-before); least < period/5 {
			return
		}
	}
	t.Errorf("%v of waiting used %v of processor time", period, least)
}

// Waiting burns no processor time: on EVDs of each stream, on a CNO, and with
// events around that are not the right ones.
func TestWaitingIsIdle(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		listener := udattest.Listen(t, ia)
		software, mixed := createEVD(t, ia, 8, udat.EVDSoftware), createEVD(t, ia, 8, udat.EVDDTO|udat.EVDSoftware)
		disabled := createEVD(t, ia, 8, udat.EVDSoftware)
		evds := []*udat.EVD{e.Recv, e.Request, e.Connect, listener.Requests, ia.AsyncEVD(), software, mixed}
		cno := createCNO(t, ia, func(*udat.EVD) { t.Error("the agent is called") }, append(evds[:len(evds)-2:len(evds)-2], disabled)...)
		post(t, software, 1)
		post(t, mixed, 1)
		want(t, disabled.Disable())
		post(t, disabled, 1)
		wantIdle(t, func(ctx context.Context) error {
			done := make(chan error)
			for _, evd := range evds {
				go func() { done <- second(evd.WaitBatch(ctx, make([]udat.Event, 2), 2)) }()
			}
			for range evds {
				want(t, receive(t, done), context.DeadlineExceeded)
			}
			return second(cno.Wait(ctx))
		})
		want(t, cno.ModifyAgent(nil))
		wantCookies(t, software, 1)
		wantCookies(t, mixed, 1)
	})
}
