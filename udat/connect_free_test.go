package udat_test

import (
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// An endpoint can be freed at the moment at which the peer's answer comes. Nothing of it
// stays: the objects that it used can be freed, too.
func TestFreeWhileAnswered(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const rounds, apart = 30, 50 * time.Microsecond
		listener := udattest.Listen(t, ia)
		for i := range rounds {
			active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
			want(t, active.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
			request := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
			want(t, request.CR().Accept(passive.EP, nil))
			// Sooner or later after the answer was sent, and no processor given up.
			for start := time.Now(); time.Since(start) < time.Duration(i)*apart; {
			}
			for _, e := range []*udattest.Endpoint{active, passive} {
				for _, o := range []interface{ Free() error }{e.EP, e.Memory, e.PZ, e.Recv, e.Request, e.Connect} {
					want(t, o.Free())
				}
			}
		}
	})
}

// Freeing endpoints whose attempts nobody answers does not wait for each in turn.
func TestFreeManyWhileConnecting(t *testing.T) {
	const within = 10 * time.Second // far longer than it takes to free one, on a busy machine too
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if udattest.IWARP(t, ia) {
			t.Log("the kernel waits for the answer")
			return
		}
		listener := udattest.Listen(t, ia)
		var connecting []*udattest.Endpoint
		for range 40 {
			e := udattest.NewEndpoint(t, ia, nil)
			want(t, e.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
			connecting = append(connecting, e)
		}
		start := time.Now()
		for i, e := range connecting {
			want(t, e.EP.Free())
			if took := time.Since(start); took > within {
				t.Fatalf("freeing %d endpoints took %v", i+1, took)
			}
		}
	})
}

// An abrupt close waits once for all the connections that are being made.
func TestCloseWhileConnecting(t *testing.T) {
	// So long that the rest of closing is short beside it, on a busy machine too.
	const attempts, wait = 40, 2 * time.Second
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			ia, err := udat.Open(name)
			want(t, err)
			listener := udattest.Listen(t, ia)
			attempts := fewerOnSIW(t, ia, attempts, 12)
			for range attempts {
				e := udattest.NewEndpoint(t, ia, nil)
				want(t, e.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
			}
			start := time.Now()
			want(t, ia.Close(udat.CloseAbrupt))
			if took := time.Since(start); took > time.Duration(attempts)*wait/2 {
				t.Errorf("closing took %v", took)
			}
		})
	}
}
