package udat_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func status(t *testing.T, ep *udat.EP) udat.EPStatus { return must(ep.GetStatus()) }

func wantState(t *testing.T, ep *udat.EP, want udat.EPState) {
	t.Helper()
	if s := status(t, ep); s.State != want {
		t.Errorf("state is %v, want %v", s.State, want)
	}
}

// want fails the test unless err matches each target.
func want(t testing.TB, err error, targets ...error) {
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
func wantDetail(t testing.TB, err error) {
	t.Helper()
	var e *udat.Error
	if !errors.As(err, &e) || e.Detail == "" {
		t.Errorf("the error does not explain itself: %v", err)
	}
}

// untilEnd has the test free an object at its end, unless it has done so before.
func untilEnd[T interface{ Free() error }](t testing.TB, o T) T {
	t.Cleanup(func() {
		if err := o.Free(); !errors.Is(err, udat.ErrClosed) {
			want(t, err)
		}
	})
	return o
}

func one(s udat.Segment) []udat.Segment { return []udat.Segment{s} }

func second[T any](_ T, err error) error { return err }

// request has an endpoint connect to a service, and returns the request.
func request(t testing.TB, e *udattest.Endpoint, l *udattest.Listener, privateData ...byte) *udat.CR {
	t.Helper()
	want(t, e.EP.Connect(udattest.Address(t, e.IA), l.ConnQual, udattest.Patience, privateData))
	return udattest.Expect(t, l.Requests, udat.EventConnectionRequest).CR()
}

// Attempts fail in three ways, and the endpoint is of use again after each. What an event brings
// stays as it is.
func TestFailedConnects(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener, e, peer := udattest.Listen(t, ia), udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		address, nobodys := udattest.Address(t, ia), udattest.ConnQual()
		// Nobody listens. No event is lost by a reset before it was taken.
		attempts := qlen(t, e.Connect)
		for range attempts {
			want(t, e.EP.Connect(address, nobodys, udattest.Patience, nil))
			awaitState(t, e.EP, udat.EPStateDisconnected)
			want(t, e.Reset())
		}
		for range attempts {
			want(t, udattest.Expect(t, e.Connect, udat.EventConnectionNonPeerRejected).Err(), udat.EventConnectionNonPeerRejected)
		}
		udattest.NoEvent(t, e.Connect)
		udattest.NoEvent(t, ia.AsyncEVD())

		cr := request(t, e, listener, []byte("hello")...)
		wantState(t, e.EP, udat.EPStateActiveConnectionPending)
		want(t, cr.Reject([]byte("go away")))
		rejected := udattest.Expect(t, e.Connect, udat.EventConnectionPeerRejected)
		want(t, cr.Reject(nil), udat.ErrClosed, udat.ErrInvalidHandle, udat.InvalidHandleCR)
		want(t, cr.Accept(e.EP, nil), udat.ErrClosed)
		want(t, e.Reset())

		want(t, e.EP.Connect(address, udattest.Listen(t, ia).ConnQual, 300*time.Millisecond, nil))
		// The request may come or not: the library may not even have sent it by then.
		event := udattest.Expect(t, e.Connect, udat.EventConnectionTimedOut)
		want(t, event.Err(), udat.EventConnectionTimedOut, os.ErrDeadlineExceeded, context.DeadlineExceeded)
		wantState(t, e.EP, udat.EPStateDisconnected)
		udattest.NoEvent(t, e.Connect)
		want(t, e.Reset())

		udattest.ConnectPair(t, listener, e, peer)
		for err, is := range map[error]error{e.Reset(): udat.InvalidStateEPConnected, e.Disconnect(77): udat.InvalidArg2} {
			want(t, err, is)
			wantDetail(t, err)
		}
		for _, e := range []*udattest.Endpoint{e, peer} {
			p := must(e.EP.Query())
			if p.RemoteAddress != address || p.PZ != e.PZ || p.State != udat.EPStateConnected {
				t.Errorf("query returns %+v", p)
			}
		}
		want(t, e.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
		want(t, e.Disconnect(udat.CloseAbrupt)) // does nothing
		param := must(cr.Query())
		if !bytes.HasPrefix(param.PrivateData, []byte("hello")) || param.RemoteAddress != address || !bytes.HasPrefix(rejected.PrivateData(), []byte("go away")) {
			t.Errorf("the request has become %+v, the answer %q", param, rejected.PrivateData())
		}
	})
}

// A connect that socket CM refuses for the address says what the kernel says.
func TestConnectRefusedAddress(t *testing.T) {
	if !udattest.InTestbed(t) {
		return // elsewhere there may be a route
	}
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !strings.Contains(ia.Name(), "scm") || udattest.Address(t, ia).Is6() {
			t.Log("nothing to test: the outcome is an event, or there are no broadcast addresses")
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
			want(t, err, append(because, udat.ErrInvalidAddress)...)
			wantDetail(t, err)
		}
		wantState(t, e.EP, udat.EPStateUnconnected)
		udattest.ConnectPair(t, udattest.Listen(t, ia), e, udattest.NewEndpoint(t, ia, nil))
	})
}

// An address that the adapter cannot use is refused with the remedy, after what is wrong with the
// endpoint, and the endpoint connects then. A zone that is no interface is one; one of a link-local
// address may be left out.
func TestConnectFamilies(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, own := udattest.NewEndpoint(t, ia, nil), udattest.Address(t, ia)
		refused := map[string]udat.ReturnSubtype{"fe80::1%nowhere": udat.InvalidAddressMalformed}
		if !strings.Contains(ia.Name(), "scm") { // which connects over TCP, and takes either
			other := "fd00:77::9"
			if own.Is6() {
				other = "10.77.0.9"
			}
			refused[other] = udat.InvalidAddressUnsupported
			if own.Is6() {
				refused["fe80::1%lo"] = udat.InvalidAddressUnreachable
			}
		}
		freed := udattest.NewEndpoint(t, ia, nil)
		want(t, freed.EP.Free())
		for text, subtype := range refused {
			address := netip.MustParseAddr(text)
			err := e.EP.Connect(address, udattest.ConnQual(), udattest.Patience, nil)
			want(t, err, udat.ErrInvalidAddress, subtype)
			if text := err.Error(); !strings.Contains(text, "zone out") && !(strings.Contains(text, own.String()) && strings.Contains(text, "cma:")) {
				t.Errorf("the error says no remedy: %v", err)
			}
			wantState(t, e.EP, udat.EPStateUnconnected)
			want(t, freed.EP.Connect(address, udattest.ConnQual(), udattest.Patience, nil), udat.ErrClosed)
		}
		udattest.ConnectPair(t, udattest.Listen(t, ia), e, udattest.NewEndpoint(t, ia, nil))
	})
}

func TestConnectArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		address := udattest.Address(t, ia)
		_, provider, err := ia.Query()
		want(t, err)
		want(t, e.EP.Connect(netip.Addr{}, 1, time.Second, nil), udat.ErrInvalidAddress)
		unsupported := []netip.Addr{netip.IPv6Loopback(), netip.MustParseAddr("224.0.0.5")}
		if strings.Contains(ia.Name(), "cma") {
			unsupported = append(unsupported, loopback)
		}
		for _, unsupported := range unsupported {
			want(t, e.EP.Connect(unsupported, 1, time.Second, nil), udat.ErrInvalidAddress, udat.InvalidAddressUnsupported)
		}
		want(t, e.EP.Connect(address, 0, time.Second, nil), udat.ErrInvalidParameter, udat.InvalidArg3)
		want(t, e.EP.Connect(address, 1, 0, nil), udat.ErrInvalidParameter, udat.InvalidArg4)
		message := &struct {
			next *byte // cgo does not mind it
			data [1 << 10]byte
		}{next: new(byte)}
		full := append(message.data[:0], bytes.Repeat([]byte{0xa5}, provider.MaxPrivateDataSize)...)
		want(t, e.EP.Connect(address, 1, time.Second, append(full, 1)), udat.ErrInvalidParameter, udat.InvalidArg5)
		wantState(t, e.EP, udat.EPStateUnconnected)

		// The most private data that is allowed arrives, with the request and with the answer.
		listener, peer := udattest.Listen(t, ia), udattest.NewEndpoint(t, ia, nil)
		cr := request(t, e, listener, full...)
		err = e.EP.Connect(address, listener.ConnQual, udattest.Patience, nil)
		want(t, err, udat.ErrInvalidState, udat.InvalidStateEPActConnPending)
		wantDetail(t, err)
		if param := must(cr.Query()); !bytes.Equal(param.PrivateData, full) {
			t.Errorf("the private data arrived as %x", param.PrivateData)
		}
		want(t, cr.Accept(peer.EP, full))
		event := udattest.Expect(t, e.Connect, udat.EventConnectionEstablished)
		if !bytes.HasPrefix(event.PrivateData(), full) {
			t.Errorf("the answer's private data arrived as %x", event.PrivateData())
		}
	})
}

// Requests that are not answered when the service point goes are rejected, also those that come at
// that moment.
func TestFreePSPRejectsRequests(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		taken, queued := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		request(t, taken, listener)
		want(t, queued.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
		awaitQueued(t, listener.Requests, 1)
		want(t, listener.PSP.Free())
		for _, e := range []*udattest.Endpoint{taken, queued} {
			udattest.Expect(t, e.Connect, udat.EventConnectionPeerRejected)
		}
		udattest.NoEvent(t, listener.Requests)

		last, next := udattest.Listen(t, ia), udattest.NewEndpoint(t, ia, nil)
		want(t, next.EP.Connect(udattest.Address(t, ia), last.ConnQual, udattest.Patience, nil))
		awaitQueued(t, last.Requests, 1)
		udat.EndService(last.PSP)
		udattest.NoEvent(t, last.Requests)
		udattest.Expect(t, next.Connect, udat.EventConnectionPeerRejected)
	})
}

// A request that arrives before its service point is complete is taken once that is.
func TestRequestBesideCreatePSP(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		client, requests, qual := udattest.NewEndpoint(t, ia, nil), createEVD(t, ia, 4, udat.EVDCR), udattest.ConnQual()
		taken := make(chan udat.Event, 1)
		psp := untilEnd(t, must(udat.CreatePSPSlowly(ia, qual, requests, func() {
			want(t, client.EP.Connect(udattest.Address(t, ia), qual, udattest.Patience, nil))
			awaitQueued(t, requests, 1)
			go func() {
				event, _ := requests.Dequeue()
				taken <- event
			}()
			select {
			case event := <-taken:
				t.Error("Dequeue returns beside the creation")
				taken <- event
			case <-time.After(50 * time.Millisecond): // one that does not wait takes some µs
			}
		})))
		cr := receive(t, taken).CR()
		if param, err := cr.Query(); err != nil || param.PSP != psp {
			t.Errorf("the request says %+v, %v", param, err)
		}
	})
}

// If two endpoints connect to each other at once, neither can accept. An endpoint that gives up its
// own attempt can.
func TestConnectsThatCross(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		var ends [2]*udattest.Endpoint
		var listeners [2]*udattest.Listener
		var requests [2]*udat.CR
		for i := range ends {
			ends[i], listeners[i] = udattest.NewEndpoint(t, ia, nil), udattest.Listen(t, ia)
		}
		for i, e := range ends {
			want(t, e.EP.Connect(udattest.Address(t, ia), listeners[1-i].ConnQual, udattest.Patience, nil))
		}
		for i, e := range ends {
			requests[i] = udattest.Expect(t, listeners[i].Requests, udat.EventConnectionRequest).CR()
			want(t, requests[i].Accept(e.EP, nil), udat.ErrInvalidState, udat.InvalidStateEPActConnPending)
		}
		want(t, ends[0].Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, ends[0].Connect, udat.EventConnectionDisconnected)
		want(t, ends[0].Reset())
		want(t, requests[0].Accept(ends[0].EP, nil))
		want(t, requests[1].Reject(nil))
		for _, e := range ends {
			udattest.Expect(t, e.Connect, udat.EventConnectionEstablished)
		}
	})
}

// Who takes a request just when its reserved service point is freed gets none, or one that the free
// has rejected.
func TestFreeRSPBesideTaking(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		client, server := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		requests := createEVD(t, ia, 4, udat.EVDCR)
		for i := range 200 {
			qual := udattest.ConnQual()
			rsp := must(udat.CreateRSP(ia, qual, server.EP, requests))
			want(t, client.EP.Connect(udattest.Address(t, ia), qual, udattest.Patience, nil))
			awaitQueued(t, requests, 1)
			taken, begun := make(chan *udat.CR, 1), make(chan struct{})
			go func() {
				close(begun)
				event, _ := requests.Dequeue()
				taken <- event.CR()
			}()
			<-begun
			for range i % 50 {
				runtime.Gosched()
			}
			want(t, rsp.Free())
			if cr := <-taken; cr != nil {
				want(t, cr.Reject(nil), udat.ErrClosed)
			}
			wantState(t, server.EP, udat.EPStateUnconnected)
			udattest.Wait(t, client.Connect)
			want(t, client.Reset())
		}
	})
}

// A request that arrives while its reserved service point is freed holds the endpoint no longer
// than the call.
func TestFreeRSPBesideArrival(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		client, server := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		requests := createEVD(t, ia, 4, udat.EVDCR)
		stop := beside(func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if event, err := requests.Wait(ctx); err == nil {
				_ = event.CR().Reject(nil) // unless Free has
			}
			return nil
		})
		for i := range 200 {
			qual := udattest.ConnQual()
			rsp := must(udat.CreateRSP(ia, qual, server.EP, requests))
			// Over soft-iWARP the rejection may be lost.
			want(t, client.EP.Connect(udattest.Address(t, ia), qual, 2*time.Second, nil))
			moment := time.Now().Add(time.Duration(i) * 10 * time.Microsecond) // about when the request arrives
			for time.Now().Before(moment) {
				runtime.Gosched()
			}
			want(t, rsp.Free())
			wantState(t, server.EP, udat.EPStateUnconnected)
			udattest.Wait(t, client.Connect)
			want(t, client.Reset())
		}
		want(t, receive(t, stop()))
	})
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
		param := must(cr.Query())
		if !bytes.HasPrefix(param.PrivateData, []byte("again")) || param.ConnQual != listener.ConnQual {
			t.Errorf("the request says %+v", param)
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

// await returns once done reports true.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for ctx := udattest.Context(t); !done(); runtime.Gosched() {
		if ctx.Err() != nil {
			t.Fatalf("%s: that does not happen", what)
		}
	}
}

// awaitQueued returns once n events are in the queue of the EVD, which nobody waits on, and leaves
// them there.
func awaitQueued(t *testing.T, evd *udat.EVD, n int) {
	t.Helper()
	length := int32(qlen(t, evd))
	await(t, "the events", func() bool {
		more, r := cgo.EVDWait(cgo.EVDHandle(udat.NativeHandle(evd)), 0, length, new(cgo.Event))
		if r.OK() {
			t.Fatal("the queue was full, and has one event less now")
		}
		return int(more) >= n
	})
}

// awaitState returns once the endpoint is in the state.
func awaitState(t *testing.T, ep *udat.EP, state udat.EPState) {
	t.Helper()
	await(t, state.String(), func() bool { return status(t, ep).State == state })
}

// A request that its endpoint cannot take, or that is answered with more than
// fits, still waits for an answer.
func TestAnswerRefused(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		deaf := untilEnd(t, must(udat.CreateEP(ia, peer.PZ, nil, nil, nil, nil)))
		foreign := udattest.NewEndpoint(t, udattest.Open(t, ia.Name()), nil)
		_, provider, err := ia.Query()
		want(t, err)
		long := make([]byte, provider.MaxPrivateDataSize+1)
		cr := request(t, e, listener)
		want(t, cr.Accept(peer.EP, long), udat.ErrInvalidParameter, udat.InvalidArg3)
		want(t, cr.Accept(e.EP, nil), udat.ErrInvalidState)
		want(t, cr.Accept(nil, nil), udat.ErrInvalidHandle)
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

// A request can be rejected whose client has gone. An accept says that the client has gone, which
// is not the fault of an argument. The endpoint and the service point are of use to others.
func TestAcceptAfterClientHasGone(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener, server := udattest.Listen(t, ia), udattest.NewEndpoint(t, ia, nil)
		for range 3 {
			client, next := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
			cr := request(t, client, listener)
			want(t, client.Disconnect(udat.CloseAbrupt))
			want(t, cr.Reject(nil))
			cr = request(t, next, listener)
			want(t, next.EP.Free())
			err := cr.Accept(server.EP, nil)
			if err == nil { // the kernel does not know yet, as with socket CM
				if udattest.IWARP(t, ia) { // nor does its answer wait for the client
					udattest.Expect(t, server.Connect, udat.EventConnectionEstablished)
					udattest.Wait(t, server.Connect)
				} else {
					udattest.Expect(t, server.Connect, udat.EventConnectionAcceptCompletionError)
				}
				want(t, server.Reset())
				continue
			}
			want(t, err, udat.ErrInvalidHandle, udat.InvalidHandleCR)
			wantDetail(t, err)
			wantState(t, server.EP, udat.EPStateUnconnected)
			want(t, cr.Accept(server.EP, nil), udat.ErrClosed)
			want(t, cr.Reject(nil), udat.ErrClosed)
		}
		udattest.ConnectPair(t, listener, udattest.NewEndpoint(t, ia, nil), server)
	})
}

// Receives that are posted while an accept fails complete once, as all others.
func TestReceiveBesideFailedAccept(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		for range 20 { // with more, soft-iWARP has no queues left
			client, server := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, &udat.EPAttr{MaxRecvDTOs: 64})
			cr, segment := request(t, client, listener), server.Segment(t, 0, 8)
			want(t, client.EP.Free())
			posted := 0
			stop := beside(func() error {
				err := server.PostRecv(one(segment), 0, 0)
				if errors.Is(err, udat.ErrInsufficientResources) {
					runtime.Gosched()
					return nil
				}
				posted++
				return err
			})
			err := cr.Accept(server.EP, nil)
			want(t, receive(t, stop()))
			if err != nil {
				want(t, err, udat.ErrInvalidHandle, udat.InvalidHandleCR)
			} else if udattest.Wait(t, server.Connect).Number == udat.EventConnectionEstablished {
				udattest.Wait(t, server.Connect)
			}
			want(t, server.Reset())
			for range posted {
				if event := udattest.Wait(t, server.Recv); event.Status != udat.DTOErrFlushed {
					t.Fatalf("a receive completes with %v", event.Status)
				}
			}
			udattest.NoEvent(t, server.Recv)
			want(t, server.Free())
		}
	})
}
