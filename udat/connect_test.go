package udat_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func status(t *testing.T, ep *udat.EP) udat.EPStatus {
	t.Helper()
	s, err := ep.GetStatus()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantState(t *testing.T, ep *udat.EP, want udat.EPState) {
	t.Helper()
	if s := status(t, ep); s.State != want {
		t.Errorf("state is %v, want %v", s.State, want)
	}
}

// want fails the test unless err matches each target.
func want(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("error is %v, want one that matches %v", err, target)
		}
	}
	if len(targets) == 0 && err != nil {
		t.Error(err)
	}
}

// wantDetail demands an error that says what was wrong, as those of the library
// do not.
func wantDetail(t *testing.T, err error) {
	t.Helper()
	var e *udat.Error
	if !errors.As(err, &e) || e.Detail == "" {
		t.Errorf("the error does not explain itself: %v", err)
	}
}

func TestConnectionStates(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		wantState(t, active.EP, udat.EPStateUnconnected)
		want(t, active.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, []byte("hello")))
		wantState(t, active.EP, udat.EPStateActiveConnectionPending)

		request := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
		param, err := request.CR().Query()
		want(t, err)
		if !bytes.HasPrefix(param.PrivateData, []byte("hello")) {
			t.Errorf("the request carries %q", param.PrivateData)
		}
		if param.RemoteAddress != udattest.Address(t, ia) {
			t.Errorf("the request comes from %v", param.RemoteAddress)
		}
		want(t, request.CR().Accept(passive.EP, []byte("welcome")))
		event := udattest.Expect(t, active.Connect, udat.EventConnectionEstablished)
		if !bytes.HasPrefix(event.PrivateData(), []byte("welcome")) || event.EP() != active.EP {
			t.Errorf("established with %q on %p", event.PrivateData(), event.EP())
		}
		udattest.Expect(t, passive.Connect, udat.EventConnectionEstablished)
		wantState(t, active.EP, udat.EPStateConnected)
		wantState(t, passive.EP, udat.EPStateConnected)
		for _, e := range []*udattest.Endpoint{active, passive} {
			p, err := e.EP.Query()
			want(t, err)
			if p.RemoteAddress != udattest.Address(t, ia) || p.PZ != e.PZ || p.State != udat.EPStateConnected {
				t.Errorf("query gives %+v", p)
			}
		}
		want(t, active.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
		udattest.Expect(t, passive.Connect, udat.EventConnectionDisconnected)
		wantState(t, active.EP, udat.EPStateDisconnected)
		wantState(t, passive.EP, udat.EPStateDisconnected)
		want(t, active.Disconnect(udat.CloseAbrupt)) // does nothing
	})
}

func TestConnectNobodyListens(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.EP.Connect(udattest.Address(t, ia), udattest.ConnQual(), udattest.Patience, nil))
		event := udattest.Expect(t, e.Connect, udat.EventConnectionNonPeerRejected)
		want(t, event.Err(), udat.ConnectionNonPeerRejected)
		wantState(t, e.EP, udat.EPStateDisconnected)

		// The endpoint is of use again.
		want(t, e.Reset())
		listener := udattest.Listen(t, ia)
		peer := udattest.NewEndpoint(t, ia, nil)
		udattest.ConnectPair(t, listener, e, peer)
	})
}

func TestConnectRejected(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
		cr := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
		want(t, cr.CR().Reject([]byte("go away")))
		event := udattest.Expect(t, e.Connect, udat.EventConnectionPeerRejected)
		if !bytes.HasPrefix(event.PrivateData(), []byte("go away")) {
			t.Errorf("rejected with %q", event.PrivateData())
		}
		want(t, cr.CR().Reject(nil), udat.ErrClosed, udat.ErrInvalidHandle, udat.InvalidHandleCR)
		want(t, cr.CR().Accept(e.EP, nil), udat.ErrClosed)
	})
}

// Nothing has this address, which is in the subnet of the test device, or not routed at all.
func TestConnectWrongAddress(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		near := udattest.Address(t, ia).Next()
		for _, address := range []netip.Addr{near, netip.MustParseAddr("203.0.113.9")} {
			t.Run(address.String(), func(t *testing.T) {
				const timeout = 2 * time.Second
				e := udattest.NewEndpoint(t, ia, nil)
				start := time.Now()
				err := e.EP.Connect(address, udattest.ConnQual(), timeout, nil)
				if err == nil {
					event := udattest.Wait(t, e.Connect)
					err = event.Err()
				}
				var failure udat.ConnectionEvent
				switch {
				case errors.As(err, &failure):
					if failure != udat.ConnectionTimedOut && failure != udat.ConnectionUnreachable && failure != udat.ConnectionNonPeerRejected {
						t.Errorf("failed with %v", failure)
					}
				default:
					want(t, err, udat.ErrInvalidAddress)
				}
				if d := time.Since(start); d > timeout+udattest.Patience {
					t.Errorf("took %v", d)
				}
				wantNoEvent(t, e.Connect)
			})
		}
	})
}

// A connect that fails at once leaves nothing to the next connection of the endpoint, which ends like any other.
func TestConnectAfterFailedConnect(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 1, 0))
		err := e.EP.Connect(netip.MustParseAddr("203.0.113.9"), udattest.ConnQual(), udattest.Patience, nil)
		if err == nil {
			t.Log("the attempt begins: there is a route, or the provider looks for one later")
			return
		}
		want(t, err, udat.ErrInvalidAddress)
		wantState(t, e.EP, udat.EPStateUnconnected)
		wantNoEvent(t, e.Connect)
		udattest.ConnectPair(t, udattest.Listen(t, ia), e, peer)
		start := time.Now()
		want(t, e.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
		udattest.Expect(t, peer.Connect, udat.EventConnectionDisconnected)
		if took := time.Since(start); took > 5*time.Second { // what hangs in the library takes 6 s or more
			t.Errorf("the disconnect took %v", took)
		}
		wantFlushed(t, e.Recv, 1)
	})
}

func wantNoEvent(t *testing.T, evd *udat.EVD) {
	t.Helper()
	event, err := evd.Dequeue()
	if err == nil {
		t.Errorf("unexpected event %v", event.Number)
	} else {
		want(t, err, udat.ErrQueueEmpty)
	}
}

// A request that nobody answers ends when the program's time-out does.
func TestConnectTimeout(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.EP.Connect(udattest.Address(t, ia), listener.ConnQual, 300*time.Millisecond, nil))
		// The request may come or not: the library may not even have sent it by then.
		event := udattest.Expect(t, e.Connect, udat.EventConnectionTimedOut)
		want(t, event.Err(), udat.ConnectionTimedOut, os.ErrDeadlineExceeded, context.DeadlineExceeded)
		wantState(t, e.EP, udat.EPStateDisconnected)
		wantNoEvent(t, e.Connect)
		want(t, e.Reset())
		wantState(t, e.EP, udat.EPStateUnconnected)
	})
}

// A connect that socket CM refuses for the address says what the kernel says.
func TestConnectRefusedAddress(t *testing.T) {
	if !udattest.InTestbed(t) {
		return // elsewhere there may be a route
	}
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !strings.Contains(ia.Name(), "scm") {
			t.Log("nothing to test: the outcome is an event")
			return
		}
		broadcast := udattest.Address(t, ia).As4()
		broadcast[3] = 255
		e := udattest.NewEndpoint(t, ia, nil)
		for address, because := range map[netip.Addr][]error{
			netip.AddrFrom4(broadcast):         {udat.InvalidAddressUnsupported, syscall.EACCES},
			netip.MustParseAddr("192.0.2.1"):   {udat.InvalidAddressUnreachable, syscall.ENETUNREACH},
			netip.MustParseAddr("203.0.113.9"): {udat.InvalidAddressUnreachable, syscall.ENETUNREACH},
		} {
			err := e.EP.Connect(address, udattest.ConnQual(), udattest.Patience, nil)
			want(t, err, append(because, udat.ErrInvalidAddress, udat.ClassError)...)
			wantDetail(t, err)
			t.Log(err)
		}
		wantState(t, e.EP, udat.EPStateUnconnected)
		udattest.ConnectPair(t, udattest.Listen(t, ia), e, udattest.NewEndpoint(t, ia, nil))
	})
}

func TestConnectArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		address := udattest.Address(t, ia)
		_, provider, err := ia.Query()
		want(t, err)
		long := make([]byte, provider.MaxPrivateDataSize+1)
		want(t, e.EP.Connect(netip.Addr{}, 1, time.Second, nil), udat.ErrInvalidAddress)
		for _, unsupported := range []netip.Addr{netip.IPv6Loopback(), netip.MustParseAddr("224.0.0.5")} {
			want(t, e.EP.Connect(unsupported, 1, time.Second, nil), udat.ErrInvalidAddress, udat.InvalidAddressUnsupported)
		}
		want(t, e.EP.Connect(address, 0, time.Second, nil), udat.ErrInvalidParameter, udat.InvalidArg3)
		want(t, e.EP.Connect(address, 1, 0, nil), udat.ErrInvalidParameter, udat.InvalidArg4)
		want(t, e.EP.Connect(address, 1, time.Second, long), udat.ErrInvalidParameter, udat.InvalidArg5)
		wantState(t, e.EP, udat.EPStateUnconnected)

		// The most private data that is allowed arrives, with the request and with the answer.
		listener, peer := udattest.Listen(t, ia), udattest.NewEndpoint(t, ia, nil)
		full := bytes.Repeat([]byte{0xa5}, provider.MaxPrivateDataSize)
		want(t, e.EP.Connect(address, listener.ConnQual, udattest.Patience, full))
		want(t, e.EP.Connect(address, listener.ConnQual, udattest.Patience, nil), udat.ErrInvalidState, udat.InvalidStateEPActConnPending)
		cr := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
		param, err := cr.CR().Query()
		want(t, err)
		if !bytes.Equal(param.PrivateData, full) {
			t.Errorf("the private data arrived as %x", param.PrivateData)
		}
		want(t, cr.CR().Accept(peer.EP, long), udat.ErrInvalidParameter, udat.InvalidArg3)
		want(t, cr.CR().Accept(e.EP, nil), udat.ErrInvalidState)
		want(t, cr.CR().Accept(nil, nil), udat.ErrInvalidHandle)
		want(t, cr.CR().Accept(peer.EP, full))
		event := udattest.Expect(t, e.Connect, udat.EventConnectionEstablished)
		if !bytes.HasPrefix(event.PrivateData(), full) {
			t.Errorf("the answer's private data arrived as %x", event.PrivateData())
		}
	})
}

// Requests that are not answered when the service point goes are rejected.
func TestFreePSPRejectsRequests(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		taken, queued := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		want(t, taken.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
		udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
		want(t, queued.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
		waitForRequest(t, listener.Requests)
		want(t, listener.PSP.Free())
		for _, e := range []*udattest.Endpoint{taken, queued} {
			event := udattest.Wait(t, e.Connect)
			if n := event.Number; n != udat.EventConnectionPeerRejected && n != udat.EventConnectionNonPeerRejected {
				t.Errorf("the client got %v", n)
			}
		}
		wantNoEvent(t, listener.Requests)
	})
}

// waitForRequest returns once an event is queued, and leaves it there.
func waitForRequest(t *testing.T, evd *udat.EVD) {
	t.Helper()
	awaitQueued(t, evd, 1)
}

// DupConnect calls the service that another endpoint has connected to.
func TestDupConnect(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		first, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		second, other := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		want(t, second.EP.DupConnect(first.EP, udattest.Patience, nil), udat.ErrInvalidState, udat.InvalidStateEPUnconnected)
		udattest.ConnectPair(t, listener, first, peer)
		want(t, second.EP.DupConnect(first.EP, 0, nil), udat.ErrInvalidParameter, udat.InvalidArg3)
		want(t, second.EP.DupConnect(first.EP, udattest.Patience, make([]byte, 500)), udat.ErrInvalidParameter, udat.InvalidArg4)
		want(t, second.EP.DupConnect(peer.EP, udattest.Patience, nil), udat.ErrInvalidParameter, udat.InvalidArg2)
		want(t, second.EP.DupConnect(nil, udattest.Patience, nil), udat.ErrInvalidHandle, udat.InvalidHandleEP)
		want(t, (*udat.EP)(nil).DupConnect(first.EP, udattest.Patience, nil), udat.ErrInvalidHandle, udat.InvalidHandleEP)
		want(t, first.EP.DupConnect(first.EP, udattest.Patience, nil), udat.ErrInvalidState, udat.InvalidStateEPConnected)

		want(t, second.EP.DupConnect(first.EP, udattest.Patience, []byte("again")))
		cr := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR()
		param, err := cr.Query()
		want(t, err)
		if !bytes.HasPrefix(param.PrivateData, []byte("again")) {
			t.Errorf("the private data arrived as %q", param.PrivateData)
		}
		want(t, cr.Accept(other.EP, nil))
		udattest.Expect(t, second.Connect, udat.EventConnectionEstablished)
		want(t, first.EP.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, first.Connect, udat.EventConnectionDisconnected)
		want(t, first.EP.Reset())
		want(t, first.EP.DupConnect(second.EP, udattest.Patience, nil))
		want(t, udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR().Reject(nil))
		udattest.Expect(t, first.Connect, udat.EventConnectionPeerRejected)
	})
}

// However an attempt fails, the receives that were posted complete before the
// event that says so, and what is posted afterwards completes at once. The peer
// of one that was broken off does not get half a connection.
func TestFailedAttempt(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, c := range []struct {
			name  string
			end   func(e *udattest.Endpoint, cr *udat.CR) error // nil for one that nobody answers
			event udat.EventNumber
		}{
			{"nobody listens", nil, udat.EventConnectionNonPeerRejected},
			{"rejected", func(_ *udattest.Endpoint, cr *udat.CR) error { return cr.Reject(nil) }, udat.EventConnectionPeerRejected},
			{"broken off", func(e *udattest.Endpoint, _ *udat.CR) error { return e.Disconnect(udat.CloseAbrupt) }, udat.EventConnectionDisconnected},
			{"broken off gracefully", func(e *udattest.Endpoint, _ *udat.CR) error { return e.Disconnect(udat.CloseGraceful) }, udat.EventConnectionDisconnected},
			{"timed out", func(*udattest.Endpoint, *udat.CR) error { return nil }, udat.EventConnectionTimedOut},
		} {
			t.Run(c.name, func(t *testing.T) {
				listener := udattest.Listen(t, ia)
				e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
				for i := range uint64(3) {
					want(t, e.PostRecv(one(e.Segment(t, 0, 8)), i, 0))
				}
				qual := listener.ConnQual
				if c.end == nil {
					qual = udattest.ConnQual()
				}
				timeout := udattest.Patience
				if c.event == udat.EventConnectionTimedOut {
					timeout = 3 * time.Second // in which the request comes
				}
				want(t, e.EP.Connect(udattest.Address(t, ia), qual, timeout, nil))
				var cr *udat.CR
				if c.end != nil {
					cr = udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR()
					want(t, c.end(e, cr))
				}
				udattest.Expect(t, e.Connect, c.event)
				wantState(t, e.EP, udat.EPStateDisconnected)
				for i := range uint64(3) {
					wantFlushed(t, e.Recv, i)
				}
				if s := status(t, e.EP); !s.RecvIdle || !s.RequestIdle {
					t.Errorf("the status is %+v", s)
				}
				want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 3, 0))
				wantFlushed(t, e.Recv, 3)
				want(t, e.PostSend(one(e.Segment(t, 0, 8)), 4, udat.CompletionSuppress))
				wantFlushed(t, e.Request, 4)

				if cr != nil && c.event != udat.EventConnectionPeerRejected {
					wantNoConnection(t, cr, peer)
				}
				want(t, e.Reset())
				for _, evd := range []*udat.EVD{e.Recv, e.Request, e.Connect} {
					wantNoEvent(t, evd)
				}
				udattest.ConnectPair(t, udattest.Listen(t, ia), e, udattest.NewEndpoint(t, ia, nil))
			})
		}
	})
}

// wantFlushed takes the next completion, which must be there already.
func wantFlushed(t *testing.T, evd *udat.EVD, cookie uint64) {
	t.Helper()
	event, err := evd.Dequeue()
	want(t, err)
	if event.Cookie != cookie || event.Status != udat.DTOErrFlushed {
		t.Errorf("got %+v, want operation %d to be flushed", event, cookie)
	}
}

// wantNoConnection accepts a request whose sender has given up. That fails, now
// or in an event.
func wantNoConnection(t *testing.T, cr *udat.CR, e *udattest.Endpoint) {
	t.Helper()
	if err := cr.Accept(e.EP, nil); err != nil {
		wantState(t, e.EP, udat.EPStateUnconnected)
		return
	}
	event := udattest.Wait(t, e.Connect)
	if event.Number == udat.EventConnectionEstablished {
		event = udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
	}
	wantState(t, e.EP, udat.EPStateDisconnected)
	want(t, e.Reset())
}

// What is posted to an endpoint whose attempt has failed does not pile up.
func TestPostsToFailedEndpointAreBounded(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.EP.Connect(udattest.Address(t, ia), udattest.ConnQual(), udattest.Patience, nil))
		udattest.Expect(t, e.Connect, udat.EventConnectionNonPeerRejected)
		param, err := e.Request.Query()
		want(t, err)
		for i := range param.QLen {
			want(t, e.PostSend(nil, uint64(i), 0))
		}
		want(t, e.PostSend(nil, 0, 0), udat.ErrInsufficientResources)
		wantFlushed(t, e.Request, 0)
		want(t, e.PostSend(nil, 0, 0))
	})
}

// A disconnect while the accepted connection is being established ends it on
// both sides.
func TestDisconnectBeforeEstablished(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		for _, flags := range []udat.CloseFlags{udat.CloseAbrupt, udat.CloseGraceful} {
			active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
			want(t, active.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
			want(t, udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR().Accept(passive.EP, nil))
			want(t, passive.Disconnect(flags))
			for _, e := range []*udattest.Endpoint{active, passive} {
				event := udattest.Wait(t, e.Connect)
				if event.Number == udat.EventConnectionEstablished {
					event = udattest.Wait(t, e.Connect)
				}
				if event.Number != udat.EventConnectionDisconnected && event.Err() == nil {
					t.Errorf("the last event is %v", event.Number)
				}
				wantState(t, e.EP, udat.EPStateDisconnected)
			}
			wantCompletion(t, passive.Recv, 1, udat.DTOErrFlushed)
		}
	})
}

// An attempt without a time-out, to a host that never answers, can be ended at
// any time.
func TestNoAnswerEver(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, end := range []func(*udattest.Endpoint) error{
			func(e *udattest.Endpoint) error { return e.Disconnect(udat.CloseAbrupt) },
			func(e *udattest.Endpoint) error { return e.Free() },
		} {
			e := udattest.NewEndpoint(t, ia, nil)
			if err := e.EP.Connect(udattest.Address(t, ia).Next(), udattest.ConnQual(), udat.TimeoutInfinite, nil); err != nil {
				want(t, err, udat.ErrInvalidAddress)
				continue
			}
			begin := time.Now()
			want(t, end(e))
			if d := time.Since(begin); d > udattest.Patience {
				t.Errorf("ending the attempt took %v", d)
			}
		}
	})
}

// What the peer sent along belongs to the event: neither a later event nor the
// end of the endpoint changes it.
func TestPrivateDataIsTheEvents(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		var events []udat.Event
		const rounds = 8
		data := func(round int) []byte { return bytes.Repeat([]byte{byte('a' + round)}, 40) }
		for round := range rounds {
			active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
			want(t, active.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, data(round)))
			request := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
			want(t, request.CR().Accept(passive.EP, data(round)))
			udattest.Expect(t, passive.Connect, udat.EventConnectionEstablished)
			want(t, passive.Disconnect(udat.CloseAbrupt))
			event := udattest.Expect(t, active.Connect, udat.EventConnectionEstablished)
			udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
			want(t, active.EP.Free())
			want(t, passive.EP.Free())
			param, err := request.CR().Query() // answered, and its connection has gone
			want(t, err)
			if !bytes.HasPrefix(param.PrivateData, data(round)) || param.RemoteAddress != udattest.Address(t, ia) {
				t.Errorf("the request has become %+v", param)
			}
			events = append(events, event)
		}
		for round, event := range events {
			if !bytes.HasPrefix(event.PrivateData(), data(round)) {
				t.Errorf("the private data of round %d is %q", round, event.PrivateData())
			}
		}
	})
}

// What the library leaves in a queue of an endpoint that is freed is dropped,
// also when another endpoint has taken its place in memory.
func TestEventsOfFreedEndpoint(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		for range 4 {
			active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
			udattest.ConnectPair(t, listener, active, passive)
			want(t, active.PostRecv(one(active.Segment(t, 0, 8)), 1, 0))
			want(t, active.EP.Free())
			udattest.Expect(t, passive.Connect, udat.EventConnectionDisconnected)
			ep, err := udat.CreateEP(ia, active.PZ, active.Recv, active.Request, active.Connect, nil)
			want(t, err)
			wantNoEvent(t, active.Connect)
			wantState(t, ep, udat.EPStateUnconnected)
			want(t, ep.Free())
		}
	})
}

// Query returns the right addresses, or none, while connections come and go.
func TestQueryWhileConnecting(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		active, passive := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		address := udattest.Address(t, ia)
		stop, asking := make(chan struct{}), sync.WaitGroup{}
		for _, e := range []*udattest.Endpoint{active, passive} {
			asking.Add(1)
			go func() {
				defer asking.Done()
				for {
					select {
					case <-stop:
						return
					default:
					}
					p, err := e.EP.Query()
					if err != nil || p.RemoteAddress.IsValid() && p.RemoteAddress != address {
						t.Errorf("query gives %v, %v", p.RemoteAddress, err)
						return
					}
				}
			}()
		}
		for range 5 {
			udattest.ConnectPair(t, listener, active, passive)
			want(t, active.Disconnect(udat.CloseAbrupt))
			for _, e := range []*udattest.Endpoint{active, passive} {
				udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
				want(t, e.Reset())
			}
			active, passive = passive, active
		}
		close(stop)
		asking.Wait()
	})
}

// Endpoints that are reset again and again lose no event although nobody takes any, as long as there is room.
func TestConnectionEventsKept(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		address, qual := udattest.Address(t, ia), udattest.ConnQual()
		attempts := qlen(t, e.Connect)
		for range attempts {
			want(t, e.EP.Connect(address, qual, udattest.Patience, nil))
			awaitState(t, e.EP, udat.EPStateDisconnected)
			want(t, e.Reset())
		}
		for range attempts {
			udattest.Expect(t, e.Connect, udat.EventConnectionNonPeerRejected)
		}
		wantNoEvent(t, e.Connect)
		wantNoEvent(t, ia.AsyncEVD())
	})
}

// A connection whose event has no room ends on both sides, and the overflow is reported once until an event is taken.
func TestConnectionEventWithoutRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener, peer := udattest.Listen(t, ia), udattest.NewEndpoint(t, ia, nil)
		e := udattest.NewEndpoint(t, ia, nil)
		full := createEVD(t, ia, 4, udat.EVDConnection|udat.EVDSoftware)
		ep, err := udat.CreateEP(ia, e.PZ, e.Recv, e.Request, full, nil)
		want(t, err)
		room := qlen(t, full)
		for range room {
			post(t, full, 1)
		}
		want(t, ep.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
		want(t, udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR().Accept(peer.EP, nil))
		if overflow := udattest.Expect(t, ia.AsyncEVD(), udat.EventAsyncErrorEVDOverflow); overflow.EVD() != full {
			t.Errorf("the overflow names %v", overflow.EVD())
		}
		awaitState(t, ep, udat.EPStateDisconnected)
		event := udattest.Wait(t, peer.Connect)
		if event.Number == udat.EventConnectionEstablished {
			event = udattest.Wait(t, peer.Connect)
		}
		if event.Number != udat.EventConnectionDisconnected && event.Err() == nil {
			t.Errorf("the peer gets %v", event.Number)
		}
		for range room {
			udattest.Expect(t, full, udat.EventSoftware)
		}
		wantNoEvent(t, full)
		wantNoEvent(t, ia.AsyncEVD())

		// With room it connects.
		e.EP, e.Connect = ep, full
		want(t, e.Reset())
		want(t, peer.Reset())
		udattest.ConnectPair(t, listener, e, peer)
		want(t, ep.Free())
	})
}

// await returns once done reports true.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for ctx := udattest.Context(t); !done(); runtime.Gosched() {
		if ctx.Err() != nil {
			t.Fatalf("%s: that does not happen", what)
		}
	}
}

// awaitQueued returns once n events are queued, and leaves them there.
func awaitQueued(t *testing.T, evd *udat.EVD, n int) {
	t.Helper()
	await(t, "the events", func() bool { return udat.Queued(evd) >= n })
}

// awaitState returns once the endpoint is in the state.
func awaitState(t *testing.T, ep *udat.EP, state udat.EPState) {
	t.Helper()
	for ctx := udattest.Context(t); status(t, ep).State != state; runtime.Gosched() {
		if err := ctx.Err(); err != nil {
			t.Fatalf("the endpoint does not become %v: %v", state, err)
		}
	}
}

// A request that its endpoint cannot take, or that is answered with more than
// fits, still waits for an answer.
func TestAnswerRefused(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		deaf, err := udat.CreateEP(ia, peer.PZ, nil, nil, nil, nil)
		want(t, err)
		defer deaf.Free()
		foreign := udattest.NewEndpoint(t, udattest.Open(t, ia.Name()), nil)
		_, provider, err := ia.Query()
		want(t, err)
		long := make([]byte, provider.MaxPrivateDataSize+1)
		want(t, e.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
		cr := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR()
		want(t, cr.Accept(deaf, nil), udat.ErrInvalidHandle, udat.InvalidHandleEVDConn)
		want(t, cr.Accept(foreign.EP, nil), udat.ErrInvalidHandle, udat.InvalidHandleEP)
		want(t, cr.Accept(&udat.EP{}, nil), udat.ErrInvalidHandle, udat.InvalidHandleEP)
		want(t, cr.Reject(long), udat.ErrInvalidParameter, udat.InvalidArg2)
		want(t, cr.Reject(long[1:]))
		event := udattest.Expect(t, e.Connect, udat.EventConnectionPeerRejected)
		if !bytes.HasPrefix(event.PrivateData(), long[1:]) {
			t.Errorf("the private data arrived as %x", event.PrivateData())
		}
	})
}

// A server survives clients that give up before it answers, and can free all
// that it had for them: the CMA provider loses queue pairs on the way.
func TestAcceptOfClientsThatLeft(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, client *udat.IA) {
		server, err := udat.Open(client.Name())
		want(t, err)
		listener := udattest.Listen(t, server)
		peer := udattest.NewEndpoint(t, server, nil)
		leaver := udattest.NewEndpoint(t, client, nil)
		want(t, leaver.EP.Connect(udattest.Address(t, client), listener.ConnQual, udattest.Patience, nil))
		cr := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR()
		want(t, leaver.EP.Free())
		wantNoConnection(t, cr, peer)
		udattest.ConnectPair(t, udattest.Listen(t, client), peer, udattest.NewEndpoint(t, client, nil))
		want(t, peer.EP.Free())
		want(t, peer.Memory.Free())
		for _, evd := range []*udat.EVD{peer.Recv, peer.Request, peer.Connect} {
			want(t, evd.Free())
		}
		want(t, peer.PZ.Free())
		want(t, listener.PSP.Free())
		want(t, listener.Requests.Free())
		want(t, server.Close(udat.CloseGraceful))
		want(t, server.Close(udat.CloseGraceful), udat.ErrClosed)
		want(t, second(server.AsyncEVD().Dequeue()), udat.ErrClosed)

		// The service is gone for good, and another adapter can be opened.
		late := udattest.NewEndpoint(t, client, nil)
		want(t, late.EP.Connect(udattest.Address(t, client), listener.ConnQual, udattest.Patience, nil))
		if n := udattest.Wait(t, late.Connect).Number; n != udat.EventConnectionPeerRejected && n != udat.EventConnectionNonPeerRejected {
			t.Errorf("a client of the closed adapter got %v", n)
		}
		udattest.Pair(t, udattest.Open(t, client.Name()), nil)
	})
}

// A connection that was established ends as one, even if the peer that has accepted it
// goes away before it gets the event.
func TestPeerGoesAwayWhileAccepting(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		e := udattest.NewEndpoint(t, ia, nil)
		for range 3 {
			peer := udattest.NewEndpoint(t, ia, nil)
			want(t, e.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
			want(t, udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR().Accept(peer.EP, nil))
			established := udattest.Wait(t, e.Connect).Number == udat.EventConnectionEstablished
			want(t, peer.EP.Free())
			if established {
				// A peer that disconnects while it is COMPLETION_PENDING tells nobody.
				want(t, e.Disconnect(udat.CloseAbrupt))
				if n := udattest.Wait(t, e.Connect).Number; n != udat.EventConnectionDisconnected && n != udat.EventConnectionBroken {
					t.Errorf("the connection ended with %v", n)
				}
			}
			want(t, e.Reset())
		}
	})
}
