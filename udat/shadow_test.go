//go:build linux

package udat_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// reportedOne returns the only report.
func reportedOne(t *testing.T, reports func() []*udat.AssertionError) *udat.AssertionError {
	t.Helper()
	list := reports()
	if len(list) != 1 {
		t.Fatalf("there are %d reports: %v", len(list), list)
	}
	return list[0]
}

// The library has moved where no call and no event leads.
func TestAssertionFindsWrongState(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		reports := watch(t)
		active, passive := udattest.Pair(t, ia, nil)
		want(t, active.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
		udattest.Expect(t, passive.Connect, udat.EventConnectionDisconnected)
		wantState(t, active.EP, udat.EPStateDisconnected)
		wantNoReport(t, reports)

		if r := cgo.EPReset(cgo.EPHandle(udat.NativeHandle(active.EP))); !r.OK() {
			t.Fatalf("the library returned %v", r)
		}
		wantState(t, active.EP, udat.EPStateUnconnected)
		wantState(t, active.EP, udat.EPStateUnconnected) // reported once
		e := reportedOne(t, reports)
		if e.At != "dat_ep_get_status" || e.Impossible || e.Got != cgo.EPStateUnconnected || !slices.Equal(e.Allowed, []cgo.EPState{cgo.EPStateDisconnected}) {
			t.Errorf("reported is %+v", e)
		}
		if !strings.Contains(e.Endpoint, "endpoint (made at shadow_test.go:") {
			t.Errorf("the endpoint is called %q", e.Endpoint)
		}

		// The history tells how it came to that, in order, and is in the text.
		text := strings.Split(e.Error(), "\n\t")
		var last time.Time
		for i, s := range e.History {
			if s.Time.Before(last) || s.Count < 1 || !strings.Contains(text[i+1], s.What) {
				t.Errorf("a step is out of order, or not in the text: %+v:\n%v", s, e)
			}
			last = s.Time
			if left := len(e.History) - i; left <= 2 { // the status that was right, and the one that was not
				state := map[int]cgo.EPState{2: cgo.EPStateDisconnected, 1: cgo.EPStateUnconnected}[left]
				if s.What != "dat_ep_get_status" || !s.HasState || s.State != state {
					t.Errorf("the last step but %d is %+v", left-1, s)
				}
			}
		}
		if first := e.History[0].What; first != "dat_ep_create" {
			t.Errorf("the history begins with %q", first)
		}
	})
}

// A call that succeeds, and an event that comes, where the specification has
// none of it.
func TestAssertionFindsImpossible(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const completion = "DAT_DTO_COMPLETION_EVENT" // is possible, and shows a wrong state
		listener := udattest.Listen(t, ia)
		for at, provoke := range map[string]func(t *testing.T, active, passive *udattest.Endpoint){
			"dat_ep_free": func(t *testing.T, active, _ *udattest.Endpoint) { want(t, active.EP.Free()) },
			"DAT_CONNECTION_EVENT_DISCONNECTED": func(t *testing.T, active, passive *udattest.Endpoint) {
				want(t, passive.Disconnect(udat.CloseAbrupt))
				udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
			},
			"dat_ep_post_send": func(t *testing.T, active, _ *udattest.Endpoint) {
				want(t, active.PostSend(one(active.Segment(t, 0, 8)), 1, 0))
				want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0)) // the report leaves nothing locked
			},
			completion: func(t *testing.T, active, passive *udattest.Endpoint) {
				want(t, passive.PostSend(one(passive.Segment(t, 0, 8)), 1, 0))
				udattest.Expect(t, active.Recv, udat.EventDTOCompletion)
			},
		} {
			t.Run(at, func(t *testing.T) {
				reports := watch(t)
				active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
				udattest.ConnectPair(t, listener, active, passive)
				want(t, active.PostRecv(one(active.Segment(t, 0, 8)), 1, 0))
				wantNoReport(t, reports)
				udat.ForceShadow(active.EP, udat.EPStateReserved)
				provoke(t, active, passive)
				if e := reportedOne(t, reports); e.At != at || e.Impossible != (at != completion) || !slices.Contains(e.Allowed, cgo.EPStateReserved) {
					t.Errorf("reported is %+v", e)
				}
			})
		}
	})
}

func wantPanic(t *testing.T, name string, call func() error) {
	t.Helper()
	defer func() {
		t.Helper()
		if _, ok := recover().(*udat.AssertionError); !ok {
			t.Errorf("%s: there was no panic", name)
		}
	}()
	_ = call()
}

// After a report by a panic that was recovered, the endpoint can be freed. What the call has freed
// in the library is freed.
func TestAssertionPanics(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		previous := udat.SetAssertions(func(err error) { panic(err) })
		defer func() { udat.SetAssertions(previous) }()
		listener := udattest.Listen(t, ia)
		for name, provoke := range map[string]func(e *udattest.Endpoint) error{
			"status":     func(e *udattest.Endpoint) error { return second(e.GetStatus()) },
			"disconnect": func(e *udattest.Endpoint) error { return e.Disconnect(udat.CloseAbrupt) },
			"send":       func(e *udattest.Endpoint) error { return e.PostSend(one(e.Segment(t, 0, 8)), 1, 0) },
			"receive":    func(e *udattest.Endpoint) error { return e.PostRecv(one(e.Segment(t, 0, 8)), 1, 0) },
		} {
			active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
			udattest.ConnectPair(t, listener, active, passive)
			udat.ForceShadow(active.EP, udat.EPStateReserved)
			wantPanic(t, name, func() error { return provoke(active) })
			want(t, active.EP.Free())
		}

		e := udattest.NewEndpoint(t, ia, nil)
		rsp, l := reserve(t, e)
		cr := request(t, udattest.NewEndpoint(t, ia, nil), l)
		udat.ForceShadow(e.EP, udat.EPStateConnected)
		wantPanic(t, "reject", func() error { return cr.Reject(nil) })
		want(t, cr.Reject(nil), udat.ErrClosed)
		udat.ForceShadow(e.EP, udat.EPStateConnected)
		wantPanic(t, "end of the reservation", rsp.Free)
		want(t, rsp.Free(), udat.ErrClosed)
	})
}

// Calls on other goroutines, which see the endpoint while it changes, are no
// difference, and neither is the state that they see.
func TestAssertionsBesideCalls(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		reports := watch(t)
		a, b := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		look := func(e *udattest.Endpoint) func() error {
			return func() error {
				runtime.Gosched()
				return second(e.GetStatus())
			}
		}
		stopA, stopB := beside(look(a)), beside(look(b))
		for range 5 {
			rsp, l := reserve(t, b)
			want(t, request(t, a, l).Accept(nil, nil))
			for _, e := range []*udattest.Endpoint{a, b} {
				udattest.Expect(t, e.Connect, udat.EventConnectionEstablished)
			}
			want(t, a.PostSend(one(a.Segment(t, 0, 8)), 1, 0))
			want(t, a.Disconnect(udat.CloseGraceful))
			want(t, a.Disconnect(udat.CloseAbrupt))
			want(t, b.PostRecv(one(b.Segment(t, 0, 8)), 1, 0))
			for _, e := range []*udattest.Endpoint{a, b} {
				udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
				want(t, e.Reset())
			}
			want(t, rsp.Free())
		}
		want(t, <-stopA())
		want(t, <-stopB())
		wantNoReport(t, reports)
	})
}

// An accept that fails releases the endpoint that the request was for.
func TestAssertionsWhenReservedAcceptFails(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		reports, rounds := watch(t), 3
		if udattest.IWARP(t, ia) {
			rounds = 1 // the end of an attempt takes ten seconds
		}
		for range rounds {
			client, e := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
			_, l := reserve(t, e)
			cr := request(t, client, l)
			want(t, client.EP.Free())
			if err := cr.Accept(nil, nil); err == nil { // the kernel does not know yet, as with socket CM
				udattest.Wait(t, e.Connect)
			} else {
				want(t, err, udat.ErrInvalidHandle, udat.InvalidHandleCR)
				wantState(t, e.EP, udat.EPStateUnconnected)
			}
		}
		wantNoReport(t, reports)
	})
}

// watch has the endpoints that the test makes from now on checked, and returns what is
// reported of them.
func watch(t *testing.T) (reports func() []*udat.AssertionError) {
	t.Helper()
	var mu sync.Mutex
	var list []*udat.AssertionError
	previous := udat.SetAssertions(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, err.(*udat.AssertionError))
	})
	t.Cleanup(func() { udat.SetAssertions(previous) })
	return func() []*udat.AssertionError {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

// wantNoReport fails the test when something was reported.
func wantNoReport(t *testing.T, reports func() []*udat.AssertionError) {
	t.Helper()
	for _, e := range reports() {
		t.Error(e)
	}
}
