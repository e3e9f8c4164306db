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

func TestAssertionsAreOff(t *testing.T) {
	previous := udat.SetAssertions(nil)
	defer func() { udat.SetAssertions(previous) }()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if udat.HasShadow(udattest.NewEndpoint(t, ia, nil).EP) {
			t.Error("an endpoint is watched that nobody asked for")
		}
		watch(t)
		if !udat.HasShadow(udattest.NewEndpoint(t, ia, nil).EP) {
			t.Error("an endpoint is not watched")
		}
	})
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

		want(t, failed(cgo.EPReset(cgo.EPHandle(udat.NativeHandle(active.EP)))))
		wantState(t, active.EP, udat.EPStateUnconnected)
		wantState(t, active.EP, udat.EPStateUnconnected) // reported once
		e := reportedOne(t, reports)
		if e.At != "dat_ep_get_status" || e.Impossible || e.Got != udat.EPStateUnconnected || !slices.Equal(e.Allowed, []udat.EPState{udat.EPStateDisconnected}) {
			t.Errorf("reported is %+v", e)
		}
		if !strings.Contains(e.Endpoint, "endpoint (made at shadow_test.go:") {
			t.Errorf("the endpoint is called %q", e.Endpoint)
		}

		// The history tells how it came to that, in order, and is in the text.
		var last time.Time
		var happened []string
		for _, s := range e.History {
			happened = append(happened, s.What)
			if s.Time.Before(last) || s.Count < 1 {
				t.Errorf("a step is out of order: %v", s)
			}
			last = s.Time
			if !strings.Contains(e.Error(), s.String()) {
				t.Errorf("the text has no %q:\n%v", s, e)
			}
		}
		// The event may come while the call is in progress.
		if i := slices.Index(happened, "dat_ep_disconnect, abrupt done"); i > 0 && happened[i-1] == "DAT_CONNECTION_EVENT_DISCONNECTED" {
			happened[i-1], happened[i] = happened[i], happened[i-1]
		}
		if wanted := []string{
			"dat_ep_create",
			"dat_ep_connect",       // looks at the state
			"dat_ep_connect begun", // has its effect
			"dat_ep_connect done",
			"DAT_CONNECTION_EVENT_ESTABLISHED",
			"dat_ep_disconnect, abrupt begun",
			"dat_ep_disconnect, abrupt done",
			"DAT_CONNECTION_EVENT_DISCONNECTED",
			"dat_ep_get_status",
			"dat_ep_get_status",
		}; !slices.Equal(happened, wanted) && !udattest.IWARP(t, ia) { // where the binding takes connection events at once
			t.Errorf("the history is %q, want %q", happened, wanted)
		}
		if s := e.History[len(e.History)-1]; !s.HasState || s.State != udat.EPStateUnconnected {
			t.Errorf("the last step is %v", s)
		}
		if s := e.History[len(e.History)-2]; !s.HasState || s.State != udat.EPStateDisconnected {
			t.Errorf("the last step but one is %v", s)
		}
	})
}

// A call that succeeds, and an event that comes, where the specification has
// none of it.
func TestAssertionFindsImpossible(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		for name, test := range map[string]struct {
			at         string
			impossible bool
			provoke    func(t *testing.T, active, passive *udattest.Endpoint)
		}{
			"call": {"dat_ep_free", true, func(t *testing.T, active, passive *udattest.Endpoint) {
				want(t, active.EP.Free())
			}},
			"event": {"DAT_CONNECTION_EVENT_DISCONNECTED", true, func(t *testing.T, active, passive *udattest.Endpoint) {
				want(t, passive.Disconnect(udat.CloseAbrupt))
				udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
			}},
			"post": {"dat_ep_post_send", true, func(t *testing.T, active, passive *udattest.Endpoint) {
				want(t, active.PostSend(one(active.Segment(t, 0, 8)), 1, 0))
				want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0)) // the report leaves nothing locked
			}},
			"completion": {"DAT_DTO_COMPLETION_EVENT", false, func(t *testing.T, active, passive *udattest.Endpoint) {
				want(t, passive.PostSend(one(passive.Segment(t, 0, 8)), 1, 0))
				udattest.Expect(t, active.Recv, udat.EventDTOCompletion)
			}},
		} {
			t.Run(name, func(t *testing.T) {
				reports := watch(t)
				active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
				udattest.ConnectPair(t, listener, active, passive)
				want(t, active.PostRecv(one(active.Segment(t, 0, 8)), 1, 0))
				wantNoReport(t, reports)
				udat.ForceShadow(active.EP, udat.EPStateReserved)
				test.provoke(t, active, passive)
				if e := reportedOne(t, reports); e.At != test.at || e.Impossible != test.impossible || !slices.Contains(e.Allowed, udat.EPStateReserved) {
					t.Errorf("reported is %+v", e)
				}
			})
		}
	})
}

// After a report by a panic that was recovered, the endpoint can be freed.
func TestAssertionPanics(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		previous := udat.SetAssertions(udat.PanicOnAssertion)
		defer func() { udat.SetAssertions(previous) }()
		listener := udattest.Listen(t, ia)
		for name, provoke := range map[string]func(e *udattest.Endpoint) error{
			"status": func(e *udattest.Endpoint) error {
				_, err := e.GetStatus()
				return err
			},
			"disconnect": func(e *udattest.Endpoint) error { return e.Disconnect(udat.CloseAbrupt) },
			"send":       func(e *udattest.Endpoint) error { return e.PostSend(one(e.Segment(t, 0, 8)), 1, 0) },
			"receive":    func(e *udattest.Endpoint) error { return e.PostRecv(one(e.Segment(t, 0, 8)), 1, 0) },
		} {
			active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
			udattest.ConnectPair(t, listener, active, passive)
			udat.ForceShadow(active.EP, udat.EPStateReserved)
			func() {
				defer func() {
					if _, ok := recover().(*udat.AssertionError); !ok {
						t.Errorf("%s: there was no panic", name)
					}
				}()
				_ = provoke(active)
			}()
			want(t, active.EP.Free())
		}
	})
}

// Calls on other goroutines, which see the endpoint while it changes, are no
// difference, and neither is the state that they see.
func TestAssertionsBesideCalls(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		reports := watch(t)
		listener := udattest.Listen(t, ia)
		a, b := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		stop := make(chan struct{})
		var group sync.WaitGroup
		for _, e := range []*udattest.Endpoint{a, b} {
			group.Add(1)
			go func() {
				defer group.Done()
				for {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := e.GetStatus(); err != nil {
						t.Error(err)
						return
					}
					runtime.Gosched()
				}
			}()
		}
		for range 5 {
			udattest.ConnectPair(t, listener, a, b)
			want(t, a.PostSend(one(a.Segment(t, 0, 8)), 1, 0))
			want(t, a.Disconnect(udat.CloseGraceful))
			want(t, b.PostRecv(one(b.Segment(t, 0, 8)), 1, 0))
			for _, e := range []*udattest.Endpoint{a, b} {
				udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
				want(t, e.Reset())
			}

			// The same with a reserved service point, and an abrupt end.
			requests, err := udat.CreateEVD(ia, 4, udat.EVDCR)
			want(t, err)
			qual := udattest.ConnQual()
			rsp, err := udat.CreateRSP(ia, qual, b.EP, requests)
			want(t, err)
			want(t, a.EP.Connect(udattest.Address(t, ia), qual, udattest.Patience, nil))
			want(t, udattest.Expect(t, requests, udat.EventConnectionRequest).CR().Accept(nil, nil))
			for _, e := range []*udattest.Endpoint{a, b} {
				udattest.Expect(t, e.Connect, udat.EventConnectionEstablished)
			}
			want(t, a.PostSend(one(a.Segment(t, 0, 8)), 1, 0))
			want(t, a.Disconnect(udat.CloseGraceful))
			want(t, a.Disconnect(udat.CloseAbrupt))
			for _, e := range []*udattest.Endpoint{a, b} {
				udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
				want(t, e.Reset())
			}
			want(t, rsp.Free())
			want(t, requests.Free())
		}
		close(stop)
		group.Wait()
		wantNoReport(t, reports)
	})
}

// Events that were not taken before a Reset come after it.
func TestAssertionsOnLateEvents(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		reports := watch(t)
		listener := udattest.Listen(t, ia)
		active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		udattest.ConnectPair(t, listener, active, passive)
		want(t, active.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, passive.Connect, udat.EventConnectionDisconnected)
		want(t, active.Reset())
		want(t, passive.Reset())
		wantState(t, active.EP, udat.EPStateUnconnected)
		want(t, active.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
		want(t, udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR().Accept(passive.EP, nil))
		udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
		udattest.Expect(t, active.Connect, udat.EventConnectionEstablished)
		wantNoReport(t, reports)
	})
}
