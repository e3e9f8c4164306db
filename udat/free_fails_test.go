//go:build linux

package udat_test

import (
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// epFreeFailures are the ways in which dat_ep_free fails here: nothing is done, or
// all is, so that a second call for the endpoint ends the process.
var epFreeFailures = []struct {
	name string
	next func(*failingCall, int32, udat.Return)
}{
	{"undone", (*failingCall).next},
	{"done", (*failingCall).nextLate},
}

// withFailingEPFree runs a test with each way on an adapter of its own, which is
// closed natively no more, but must close.
func withFailingEPFree(t *testing.T, test func(t *testing.T, ia *udat.IA, fail func())) {
	t.Helper()
	withFailingCalls(t, func(t *testing.T, first *udat.IA, calls *failingCalls) {
		for _, way := range epFreeFailures {
			t.Run(way.name, func(t *testing.T) {
				udattest.CheckLeaks(t)
				ia := udattest.Open(t, first.Name())
				test(t, ia, func() { way.next(&calls.epFree, 1, returnOf(udat.ErrInternalError)) })
				calls.epFree.wantFailed(t)
				if !udat.LeftBehind(ia) {
					t.Error("the native adapter is to be closed with an endpoint alive")
				}
			})
		}
	})
}

// Making an endpoint makes one native endpoint, with attributes or without: no
// other is freed.
func TestEndpointIsMadeOnce(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		e := udattest.NewEndpoint(t, ia, nil)
		for _, attr := range []*udat.EPAttr{nil, {}, {MaxRecvDTOs: 3}} {
			calls.epFree.nextLate(always, 0) // which counts them
			ep, err := udat.CreateEP(ia, e.PZ, e.Recv, e.Request, e.Connect, attr)
			want(t, err)
			if n := calls.epFree.stop(); n != 0 {
				t.Errorf("%d native endpoints were freed while one was made with %+v", n, attr)
			}
			want(t, ep.Free())
		}
	})
}

// wantOwnNumbers makes endpoints until numbers have come round, and looks whether
// each has a number of its own.
func wantOwnNumbers(t *testing.T, ia *udat.IA, others ...*udat.EP) {
	t.Helper()
	rounds := fewerOnSIW(t, ia, 70, 20) // more than there are numbers at first
	pz, err := udat.CreatePZ(ia)
	want(t, err)
	defer pz.Free()
	owners := map[uint32]bool{}
	for _, ep := range others {
		owners[udat.Number(ep)] = true
	}
	for range rounds {
		ep, err := udat.CreateEP(ia, pz, nil, nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer ep.Free()
		if n := udat.Number(ep); owners[n] {
			t.Errorf("two endpoints have the number %d", n)
		} else {
			owners[n] = true
		}
	}
}

// exchangeOne sends a message from one endpoint to the other, and looks whether
// the completions name them.
func exchangeOne(t *testing.T, from, to *udattest.Endpoint) {
	t.Helper()
	want(t, to.PostRecv(one(to.Segment(t, 0, 8)), 11, 0))
	want(t, from.PostSend(one(from.Segment(t, 0, 8)), 12, 0))
	if event := udattest.Completion(t, to.Recv, 11); event.EP() != to.EP {
		t.Error("the receive names another endpoint")
	}
	if event := udattest.Completion(t, from.Request, 12); event.EP() != from.EP {
		t.Error("the send names another endpoint")
	}
}

// An endpoint whose native counterpart is replaced lives on when the old one
// cannot be freed, and no event of either names another endpoint.
func TestReplaceWhenFreeFails(t *testing.T) {
	replacements := map[string]func(t *testing.T, e, peer *udattest.Endpoint, l *udattest.Listener, fail func()){
		"Modify": func(t *testing.T, e, _ *udattest.Endpoint, _ *udattest.Listener, fail func()) {
			fail()
			want(t, e.Modify(udat.EPFieldMaxMessageSize, &udat.EPParam{Attr: udat.EPAttr{MaxMessageSize: 1 << 20}}))
		},
		"Modify with a receive posted": func(t *testing.T, e, peer *udattest.Endpoint, l *udattest.Listener, fail func()) {
			want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 5, 0))
			fail()
			want(t, e.Modify(udat.EPFieldMaxMessageSize, &udat.EPParam{Attr: udat.EPAttr{MaxMessageSize: 1 << 20}}))
			udattest.ConnectPair(t, l, e, peer)
			want(t, peer.PostSend(one(peer.Segment(t, 0, 8)), 6, 0))
			if event := udattest.Completion(t, e.Recv, 5); event.EP() != e.EP {
				t.Error("the receive names another endpoint")
			}
			udattest.Completion(t, peer.Request, 6)
			want(t, e.Disconnect(udat.CloseAbrupt))
			for _, e := range []*udattest.Endpoint{e, peer} {
				udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
				want(t, e.Reset())
			}
		},
		"Reset": func(t *testing.T, e, peer *udattest.Endpoint, l *udattest.Listener, fail func()) {
			udattest.ConnectPair(t, l, e, peer)
			want(t, e.Disconnect(udat.CloseAbrupt))
			for _, e := range []*udattest.Endpoint{e, peer} {
				udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
			}
			want(t, peer.Reset())
			fail()
			want(t, e.Reset())
		},
		"attempt that fails": func(t *testing.T, e, _ *udattest.Endpoint, _ *udattest.Listener, fail func()) {
			fail()
			want(t, e.EP.Connect(udattest.Address(t, e.IA), udattest.ConnQual(), udattest.Patience, nil))
			want(t, udattest.Expect(t, e.Connect, udat.EventConnectionNonPeerRejected).Err(), udat.ConnectionNonPeerRejected)
			wantState(t, e.EP, udat.EPStateDisconnected)
			want(t, e.Reset())
		},
	}
	withFailingEPFree(t, func(t *testing.T, ia *udat.IA, fail func()) {
		for name, replace := range replacements {
			t.Run(name, func(t *testing.T) {
				e, peer, l := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil), udattest.Listen(t, ia)
				replace(t, e, peer, l, fail)
				wantOwnNumbers(t, ia, e.EP, peer.EP)
				udattest.ConnectPair(t, l, e, peer)
				exchangeOne(t, e, peer)
				exchangeOne(t, peer, e)
				want(t, e.Free())
				wantOwnNumbers(t, ia, peer.EP)
			})
		}
	})
}

// An endpoint is freed for the program even if the library fails to free it, and the
// library is not called again.
func TestFreeWhenFreeFails(t *testing.T) {
	withFailingEPFree(t, func(t *testing.T, ia *udat.IA, fail func()) {
		a, b, other := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		l := udattest.Listen(t, ia)
		udattest.ConnectPair(t, l, a, b)
		want(t, a.PostRecv(one(a.Segment(t, 0, 8)), 1, 0))
		fail()
		want(t, a.Free(), udat.ErrInternalError)
		want(t, a.Free(), udat.ErrClosed)
		udattest.Expect(t, b.Connect, udat.EventConnectionDisconnected)
		wantOwnNumbers(t, ia, b.EP, other.EP)
		want(t, b.Reset())
		udattest.ConnectPair(t, l, b, other)
		exchangeOne(t, b, other)
		want(t, a.Memory.Free())
		want(t, a.Recv.Free())
		want(t, a.PZ.Free())
		want(t, ia.Close(udat.CloseAbrupt))
	})
}

// An abrupt close succeeds even if the library fails to free endpoints.
func TestCloseWhenFreeFails(t *testing.T) {
	withFailingEPFree(t, func(t *testing.T, ia *udat.IA, fail func()) {
		udattest.Pair(t, ia, nil)
		udattest.NewEndpoint(t, ia, nil)
		fail()
		want(t, ia.Close(udat.CloseAbrupt))
	})
}

// Modify fails for lack of room even if the library fails to free the native endpoint
// that it has made. The endpoint works as before.
func TestModifyWhenFreeFails(t *testing.T) {
	withFailingEPFree(t, func(t *testing.T, ia *udat.IA, fail func()) {
		e := udattest.NewEndpoint(t, ia, nil)
		small := createEVD(t, ia, 2, udat.EVDDTO)
		other, err := udat.CreateEP(ia, e.PZ, small, e.Request, e.Connect, nil)
		want(t, err)
		iov := one(e.Segment(t, 0, 8))
		for err == nil {
			err = other.PostRecv(iov, 1, 0)
		}
		want(t, err, noRoom...)
		want(t, e.PostRecv(iov, 2, 0))
		fail()
		want(t, e.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: small}), noRoom...)
		want(t, e.PostRecv(iov, 3, 0))
		want(t, other.Free())
		want(t, small.Free())
	})
}

// The kernel does not destroy a completion queue while a command for it is in progress,
// which soon ends.
func TestEVDFreeWhileBusy(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		const failures = 4
		for _, flags := range []udat.EVDFlags{udat.EVDDTO, udat.EVDSoftware, udat.EVDConnection} {
			evd := createEVD(t, ia, 8, flags)
			calls.evdFree.next(failures, udat.Return(udat.ErrInternalError))
			want(t, evd.Free())
			calls.evdFree.awaitFailed(t, failures)

			evd = createEVD(t, ia, 8, flags)
			calls.evdFree.next(failures, udat.Return(udat.ErrInternalError))
			param, err := evd.Query()
			want(t, err)
			want(t, evd.Resize(param.QLen+1))
			calls.evdFree.awaitFailed(t, failures)
		}
	})
}

// On a machine with too little time a command may be under way for long.
func TestEVDFreeWhileLongBusy(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		const busy = 300 * time.Millisecond
		evd := createEVD(t, ia, 8, udat.EVDDTO)
		calls.evdFree.next(always, udat.Return(udat.ErrInternalError))
		defer time.AfterFunc(busy, func() { calls.evdFree.stop() }).Stop()
		want(t, evd.Free())
	})
}

// Calls on an EVD do not wait for a Free or Resize that tries again to free it.
func TestCallsWhileEVDIsBusy(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		defer udat.SetBusyWithin(2 * udattest.Patience)()
		for _, free := range []func(*udat.EVD) error{
			(*udat.EVD).Free,
			func(evd *udat.EVD) error { return evd.Resize(100) },
		} {
			evd := createEVD(t, ia, 8, udat.EVDSoftware)
			calls.evdFree.next(always, udat.Return(udat.ErrInternalError))
			freed, posted := make(chan error, 1), make(chan error, 1)
			go func() { freed <- free(evd) }()
			calls.evdFree.awaitFailed(t, 8) // the pause is longer after each
			go func() { posted <- evd.PostSE(1) }()
			want(t, receive(t, posted))
			calls.evdFree.stop()
			want(t, receive(t, freed))
		}
	})
}

// An adapter whose asynchronous EVD leaves its CNO behind is not closed natively.
func TestCloseWhenCNOFreeFails(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, first *udat.IA, calls *failingCalls) {
		for _, flags := range []udat.CloseFlags{udat.CloseGraceful, udat.CloseAbrupt} {
			ia := udattest.Open(t, first.Name())
			calls.cnoFree.next(1, returnOf(udat.ErrInvalidState))
			want(t, ia.Close(flags))
			calls.cnoFree.wantFailed(t)
			if !udat.LeftBehind(ia) {
				t.Error("the native adapter is closed with a CNO")
			}
			want(t, ia.Close(flags), udat.ErrClosed)
			// It shares its device with others.
			udattest.Pair(t, udattest.Open(t, first.Name()), nil)
		}
	})
}

// An EVD that cannot be freed works as before: it has its events, and is armed.
func TestEVDThatCannotBeFreed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		defer udat.SetBusyWithin(100 * time.Millisecond)()
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		want(t, evd.SetWaitSpin(0))
		for name, free := range map[string]func() error{
			"Free":   evd.Free,
			"Resize": func() error { return evd.Resize(100) },
		} {
			for _, code := range []udat.ReturnType{udat.ErrInternalError, udat.ErrInvalidState} {
				want(t, evd.PostSE(1))
				calls.evdFree.next(always, returnOf(code))
				begin := time.Now()
				want(t, free(), code)
				if taken := time.Since(begin); taken > udattest.Patience/2 {
					t.Errorf("%s took %v", name, taken)
				}
				calls.evdFree.wantFailed(t)
				udattest.Expect(t, evd, udat.EventSoftware)
				polled := make(chan error, 1)
				go func() {
					_, err := evd.Dequeue()
					polled <- err
				}()
				want(t, receive(t, polled), udat.ErrQueueEmpty)

				woken := waitAsleep(t, evd)
				calls.evdFree.next(always, returnOf(code))
				want(t, free(), code)
				calls.evdFree.stop()
				want(t, evd.PostSE(2))
				if event := receive(t, woken); event.Cookie != 2 {
					t.Errorf("after %s got %+v", name, event)
				}
			}
		}
	})
}
