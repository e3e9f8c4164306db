//go:build !race

package udat_test

import (
	"context"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Ten thousand goroutines wait on one EVD; each event goes to one of them, and
// the others sleep on.
func TestManyWaitersOnOneEVD(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const n, events = 10000, 500
		evd := createEVD(t, ia, events, udat.EVDSoftware)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		cookies, ended := make(chan uint64, events), make(chan error, n)
		for range n {
			go func() {
				event, err := evd.Wait(ctx)
				if err == nil {
					cookies <- event.Cookie
				} else {
					ended <- err
				}
			}()
		}
		udat.AwaitWaiters(evd, n)
		seen := make([]bool, events)
		for i := range seen {
			post(t, evd, uint64(i))
		}
		for range seen {
			cookie := receive(t, cookies)
			if seen[cookie] {
				t.Errorf("the event %d came twice", cookie)
			}
			seen[cookie] = true
		}
		udat.AwaitWaiters(evd, n-events)
		cancel()
		for range n - events {
			want(t, receive(t, ended), context.Canceled)
		}
		wantNoEvent(t, evd)
	})
}
