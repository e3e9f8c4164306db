package udat_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
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
		want(t, event.Err(), udat.EventConnectionNonPeerRejected)
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
				var number udat.EventNumber
				switch {
				case errors.As(err, &number):
					if number != udat.EventConnectionTimedOut && number != udat.EventConnectionUnreachable && number != udat.EventConnectionNonPeerRejected {
						t.Errorf("failed with %v", number)
					}
				default:
					want(t, err, udat.ErrInvalidAddress)
				}
				if d := time.Since(start); d > timeout+10*time.Second {
					t.Errorf("took %v", d)
				}
				wantNoEvent(t, e.Connect)
			})
		}
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
		udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
		event := udattest.Expect(t, e.Connect, udat.EventConnectionTimedOut)
		want(t, event.Err(), udat.EventConnectionTimedOut)
		wantState(t, e.EP, udat.EPStateDisconnected)
		wantNoEvent(t, e.Connect)
		want(t, e.Reset())
		wantState(t, e.EP, udat.EPStateUnconnected)
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
		want(t, e.EP.Connect(netip.IPv6Loopback(), 1, time.Second, nil), udat.ErrInvalidAddress, udat.InvalidAddressUnsupported)
		want(t, e.EP.Connect(address, 0, time.Second, nil), udat.ErrInvalidParameter, udat.InvalidArg3)
		want(t, e.EP.Connect(address, 64536, time.Second, nil), udat.ErrInvalidParameter)
		want(t, e.EP.Connect(address, 1, 0, nil), udat.ErrInvalidParameter, udat.InvalidArg4)
		want(t, e.EP.Connect(address, 1, time.Second, long), udat.ErrInvalidParameter, udat.InvalidArg5)
		wantState(t, e.EP, udat.EPStateUnconnected)

		// The most that is allowed does arrive, and the answer's likewise.
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
	ctx, cancel := context.WithTimeout(context.Background(), udattest.Patience)
	defer cancel()
	if err := udat.AwaitEvent(ctx, evd); err != nil {
		t.Fatal(err)
	}
}
