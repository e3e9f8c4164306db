package udat

import (
	"context"
	"runtime"
)

// AwaitEvent waits until an event is queued, without taking it.
func AwaitEvent(ctx context.Context, evd *EVD) error {
	for {
		ready, err := evd.arm("dat_evd_wait")
		if ready || err != nil {
			return err
		}
		if err := evd.await("dat_evd_wait", ctx.Done(), nil); err != nil {
			return err
		}
	}
}

// AwaitWaiter returns once a goroutine waits on the EVD.
func AwaitWaiter(evd *EVD) {
	for {
		evd.waiters.mu.Lock()
		n := len(evd.waiters.list)
		evd.waiters.mu.Unlock()
		if n > 0 {
			return
		}
		runtime.Gosched()
	}
}
