package udat_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// forEachIABothWays runs a test on each adapter, with goroutines that wait in the library, one on
// each EVD, and with none: on a single processor all are parked.
func forEachIABothWays(t *testing.T, test func(t *testing.T, ia *udat.IA)) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for name, processors := range map[string]int{"in the library": 4, "parked": 1} {
			t.Run(name, func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				test(t, ia)
			})
		}
	})
}

// asleep makes calls beside the test, and returns once they all wait for events of the adapter. The
// channel gets what they return.
func asleep(t testing.TB, ia *udat.IA, waits ...func() error) <-chan error {
	t.Helper()
	before, ended := udat.Sleeps(ia), make(chan error, len(waits))
	for _, wait := range waits {
		go func() { ended <- wait() }()
	}
	await(t, "the waits", func() bool { return udat.Sleeps(ia) >= before+uint64(len(waits)) })
	return ended
}

// waitsFor returns n waits for an event each.
func waitsFor(ctx context.Context, evd *udat.EVD, n int) (waits []func() error) {
	for range n {
		waits = append(waits, func() error { return second(evd.Wait(ctx)) })
	}
	return waits
}

// awaitCNOWaiters returns once n goroutines wait on notification objects, agents included.
func awaitCNOWaiters(t testing.TB, n int) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	await(t, "the waits", func() bool {
		return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("notify.(*CNO[...]).wait(")) == n
	})
}

// returns fails the test unless f returns.
func returns(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	want(t, receive(t, done))
}

// Calls that change what events name do not wait for the end of a wait, and end none.
func TestCallsBesideWait(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		other := udattest.NewEndpoint(t, ia, nil)
		requests := createEVD(t, ia, 8, udat.EVDCR)
		ctx := udattest.Context(t)
		ended := asleep(t, ia, append(waitsFor(ctx, passive.Recv, 2), waitsFor(ctx, requests, 1)...)...)
		for range 20 {
			returns(t, func() error {
				return must(udat.CreateEP(ia, passive.PZ, passive.Recv, passive.Request, passive.Connect, nil)).Free()
			})
			for _, evd := range []*udat.EVD{passive.Recv, other.Recv} {
				returns(t, func() error { return other.Modify(udat.EPFieldRecvEVD, &udat.EPParam{RecvEVD: evd}) })
			}
			returns(t, func() error { return second(passive.Recv.Query()) })
		}
		returns(t, func() error { return must(udat.CreatePSPAny(ia, requests)).Free() })
		for i := range uint64(2) {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), i, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), i, 0))
			udattest.Completion(t, active.Request, i)
			want(t, receive(t, ended))
		}
		want(t, requests.Free())
		want(t, receive(t, ended), udat.ErrClosed)
	})
}

// One of those who wait on a CNO gets each EVD that has triggered it. One who leaves at that moment
// passes it on.
func TestCNOWithManyWaiters(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		const n = 6
		var evds []*udat.EVD
		for range n {
			evds = append(evds, createEVD(t, ia, 8, udat.EVDSoftware))
		}
		cno := createCNO(t, ia, nil, evds...)
		for range 10 {
			leaving, staying := make(chan *udat.EVD, n), make(chan *udat.EVD, n)
			ctx, leave := context.WithCancel(udattest.Context(t))
			wait := func(ctx context.Context, to chan<- *udat.EVD) {
				evd, _ := cno.Wait(ctx)
				to <- evd
			}
			for range n {
				go wait(ctx, leaving)
			}
			awaitCNOWaiters(t, n)
			for range n {
				go wait(udattest.Context(t), staying)
			}
			awaitCNOWaiters(t, 2*n)
			time.AfterFunc(time.Duration(rand.IntN(200))*time.Microsecond, leave)
			for _, evd := range evds {
				post(t, evd, 1)
			}
			for range n {
				if evd := receive(t, leaving); evd != nil {
					wantCookies(t, evd, 1)
					post(t, evd, 1)
				}
			}
			for range n {
				wantCookies(t, receive(t, staying), 1)
			}
		}
	})
}
