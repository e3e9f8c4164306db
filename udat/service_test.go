package udat_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestCreatePSPRefuses(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		l := udattest.Listen(t, ia)
		e := udattest.NewEndpoint(t, ia, nil)
		create := func(qual udat.ConnQual, evd *udat.EVD, flags udat.PSPFlags) error {
			_, err := udat.CreatePSP(ia, qual, evd, flags)
			return err
		}
		want(t, create(0, l.Requests, udat.PSPConsumer), udat.ErrInvalidParameter, udat.InvalidArg2)
		want(t, create(udattest.ConnQual(), e.Connect, udat.PSPConsumer), udat.ErrInvalidHandle, udat.InvalidHandleEVDCR)
		want(t, create(udattest.ConnQual(), nil, udat.PSPConsumer), udat.ErrInvalidHandle, udat.InvalidHandleEVDCR)
		want(t, create(udattest.ConnQual(), l.Requests, udat.PSPProvider), udat.ErrModelNotSupported)
		want(t, create(udattest.ConnQual(), l.Requests, 7), udat.ErrInvalidParameter, udat.InvalidArg4)
		want(t, create(l.ConnQual, l.Requests, udat.PSPConsumer), udat.ErrConnQualInUse)

		// Another adapter on the same device is another program to the library.
		other := udattest.Open(t, ia.Name())
		evd, err := udat.CreateEVD(other, 4, udat.EVDCR)
		want(t, err)
		_, err = udat.CreatePSP(other, l.ConnQual, evd, udat.PSPConsumer)
		want(t, err, udat.ErrConnQualInUse)
		_, err = udat.CreatePSP(ia, udattest.ConnQual(), evd, udat.PSPConsumer)
		want(t, err, udat.ErrInvalidHandle, udat.InvalidHandleEVDCR)
		want(t, evd.Free())
	})
}

// A qualifier can be listened on again, and belongs to nobody in between.
func TestListenAgain(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		l := udattest.Listen(t, ia)
		want(t, l.PSP.Free())
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		want(t, e.EP.Connect(udattest.Address(t, ia), l.ConnQual, udattest.Patience, nil))
		if n := udattest.Wait(t, e.Connect).Number; n != udat.EventConnectionPeerRejected && n != udat.EventConnectionNonPeerRejected {
			t.Errorf("the client of a freed service point got %v", n)
		}
		want(t, e.EP.Reset())

		evd, err := udat.CreateEVD(ia, 4, udat.EVDCR)
		want(t, err)
		defer func() { want(t, evd.Free()) }()
		psp, err := udat.CreatePSP(ia, l.ConnQual, evd, udat.PSPConsumer)
		want(t, err)
		again := &udattest.Listener{PSP: psp, Requests: evd, ConnQual: l.ConnQual}
		udattest.ConnectPair(t, again, e, peer)
		want(t, psp.Free())
		// A connection outlives the service point that it came through.
		want(t, peer.EP.PostRecv(one(peer.Segment(t, 0, 8)), 1, 0))
		want(t, e.EP.PostSend(one(e.Segment(t, 0, 8)), 1, 0))
		udattest.Expect(t, peer.Recv, udat.EventDTOCompletion)
	})
}

func TestCreatePSPAny(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		l := udattest.Listen(t, ia)
		seen := map[udat.ConnQual]bool{l.ConnQual: true}
		var last *udat.PSP
		for range 3 {
			psp, err := udat.CreatePSPAny(ia, l.Requests)
			want(t, err)
			param, err := psp.Query()
			want(t, err)
			if seen[param.ConnQual] {
				t.Errorf("the qualifier %d was given twice", param.ConnQual)
			}
			seen[param.ConnQual] = true
			last = psp
			defer func() { want(t, psp.Free()) }()
		}
		param, err := last.Query()
		want(t, err)
		if param.IA != ia || param.EVD != l.Requests || param.Flags != udat.PSPConsumer {
			t.Errorf("the service point says %+v", param)
		}
		any := &udattest.Listener{PSP: last, Requests: l.Requests, ConnQual: param.ConnQual}
		udattest.ConnectPair(t, any, udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil))
	})
}

// A query beside Free returns the parameters, or ErrClosed.
func TestQueryBesideFree(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		l := udattest.Listen(t, ia)
		for range 100 {
			psp, err := udat.CreatePSPAny(ia, l.Requests)
			want(t, err)
			stop := beside(func() error {
				_, err := psp.Query()
				if err == nil {
					_, err = udat.GetHandleType(psp)
				}
				return err
			})
			want(t, psp.Free())
			if err := <-stop(); err != nil {
				want(t, err, udat.ErrClosed)
			}
			want(t, second(psp.Query()), udat.ErrClosed, udat.InvalidHandlePSP)
		}
	})
}

// Requests beyond the length of the event dispatcher are rejected and reported
// once; when there is room again, they come again.
func TestRequestsBeyondQueue(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd, err := udat.CreateEVD(ia, 4, udat.EVDCR)
		want(t, err)
		defer func() { want(t, evd.Free()) }()
		room := qlen(t, evd)
		psp, err := udat.CreatePSP(ia, udattest.ConnQual(), evd, udat.PSPConsumer)
		want(t, err)
		defer func() { want(t, psp.Free()) }()
		param, err := psp.Query()
		want(t, err)

		const beyond = 3
		clients := udattest.NewEndpoint(t, ia, nil)
		outcomes := createEVD(t, ia, room+beyond, udat.EVDConnection)
		for range room + beyond {
			ep, err := udat.CreateEP(ia, clients.PZ, nil, nil, outcomes, nil)
			want(t, err)
			t.Cleanup(func() { want(t, ep.Free()) })
			want(t, ep.Connect(udattest.Address(t, ia), param.ConnQual, udattest.Patience, nil))
		}
		for range beyond {
			if n := udattest.Wait(t, outcomes).Number; n != udat.EventConnectionPeerRejected && n != udat.EventConnectionNonPeerRejected {
				t.Errorf("a client beyond the queue got %v", n)
			}
		}
		overflow := udattest.Expect(t, ia.AsyncEVD(), udat.EventAsyncErrorEVDOverflow)
		if overflow.EVD() != evd {
			t.Errorf("the overflow names %v", overflow.EVD())
		}
		wantNoEvent(t, ia.AsyncEVD())

		first := udattest.Expect(t, evd, udat.EventConnectionRequest)
		late := clients
		want(t, late.EP.Connect(udattest.Address(t, ia), param.ConnQual, udattest.Patience, nil))
		for range room - 1 {
			udattest.Expect(t, evd, udat.EventConnectionRequest)
		}
		peer := udattest.NewEndpoint(t, ia, nil)
		want(t, udattest.Expect(t, evd, udat.EventConnectionRequest).CR().Accept(peer.EP, nil))
		udattest.Expect(t, late.Connect, udat.EventConnectionEstablished)
		want(t, first.CR().Reject(nil))
	})
}

// Requests may come among completions, and share the room with operations.
func TestRequestsAmongCompletions(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDDTO|udat.EVDCR)
		psp, err := udat.CreatePSP(ia, udattest.ConnQual(), evd, udat.PSPConsumer)
		want(t, err)
		if canResize(t, ia) {
			want(t, evd.Resize(12)) // no endpoint uses it
		}
		param, err := psp.Query()
		want(t, err)
		passive := udattest.NewEndpoint(t, ia, nil)
		ep, err := udat.CreateEP(ia, passive.PZ, evd, evd, passive.Connect, nil)
		want(t, err)
		connect := func() *udattest.Endpoint {
			e := udattest.NewEndpoint(t, ia, nil)
			want(t, e.EP.Connect(udattest.Address(t, ia), param.ConnQual, udattest.Patience, nil))
			return e
		}
		active := connect()
		want(t, udattest.Expect(t, evd, udat.EventConnectionRequest).CR().Accept(ep, nil))
		udattest.Expect(t, active.Connect, udat.EventConnectionEstablished)
		udattest.Expect(t, passive.Connect, udat.EventConnectionEstablished)

		segment := one(passive.Segment(t, 0, 8))
		for i := range uint64(2) {
			want(t, ep.PostRecv(segment, i, 0))
		}
		receiveOne := func() {
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), 9, 0))
			wantCompletion(t, active.Request, 9, udat.DTOSuccess)
		}
		receiveOne()
		awaitQueued(t, evd, 1)
		for range 2 {
			connect()
		}
		awaitQueued(t, evd, 3)
		receiveOne()
		awaitQueued(t, evd, 4)

		room := qlen(t, evd) - 4
		for i := range room {
			want(t, ep.PostRecv(segment, uint64(10+i), 0))
		}
		want(t, ep.PostRecv(segment, 99, 0), noRoom...)
		want(t, evd.Resize(qlen(t, evd)-1), udat.ErrInvalidState)
		wantCompletion(t, evd, 0, udat.DTOSuccess)
		want(t, ep.PostRecv(segment, 20, 0))
		want(t, ep.PostRecv(segment, 99, 0), noRoom...)
		want(t, udattest.Expect(t, evd, udat.EventConnectionRequest).CR().Reject(nil))
		want(t, ep.PostRecv(segment, 21, 0))
		want(t, ep.PostRecv(segment, 99, 0), noRoom...)
		want(t, psp.Free()) // drops the other one
		want(t, ep.PostRecv(segment, 22, 0))
		want(t, ep.PostRecv(segment, 99, 0), noRoom...)
		wantCompletion(t, evd, 1, udat.DTOSuccess)
		want(t, ep.Free())
		wantNoOverflow(t, ia)
		want(t, evd.Free())
	})
}

// A service point can come and go while peers call it.
func TestFreePSPUnderRequests(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const clients, rounds = 4, 40
		qual := udattest.ConnQual()
		requests, err := udat.CreateEVD(ia, clients, udat.EVDCR)
		want(t, err)
		var stop atomic.Bool
		var wg sync.WaitGroup
		for range clients {
			e := udattest.NewEndpoint(t, ia, nil)
			wg.Add(1)
			go func() {
				defer wg.Done()
				for !stop.Load() {
					if err := e.EP.Connect(udattest.Address(t, ia), qual, udattest.Patience, nil); err != nil {
						t.Error(err)
						return
					}
					ctx, cancel := context.WithTimeout(context.Background(), udattest.Patience)
					_, err := e.Connect.Wait(ctx)
					cancel()
					if err != nil {
						t.Errorf("a client got no answer: %v", err)
						return
					}
					if err := e.EP.Reset(); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		for range rounds {
			psp, err := udat.CreatePSP(ia, qual, requests, udat.PSPConsumer)
			want(t, err)
			for range clients {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				event, err := requests.Wait(ctx)
				cancel()
				if err != nil {
					break // rejected ones may be slow to come again
				}
				want(t, event.CR().Reject(nil))
			}
			want(t, psp.Free())
		}
		stop.Store(true)
		wg.Wait()
		want(t, requests.Free())
	})
}

// The port of a service point that is freed is free for others at once, also while a
// connection lives that came through it.
func TestFreedPort(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		other := udattest.Open(t, ia.Name()) // as good as another process, to the library
		evd := createEVD(t, other, 4, udat.EVDCR)
		for _, way := range []struct {
			name string
			use  func(t *testing.T, l *udattest.Listener)
		}{
			{"unused", func(*testing.T, *udattest.Listener) {}},
			{"request waits", func(t *testing.T, l *udattest.Listener) {
				e := udattest.NewEndpoint(t, ia, nil)
				want(t, e.EP.Connect(udattest.Address(t, ia), l.ConnQual, udattest.Patience, nil))
				udattest.Expect(t, l.Requests, udat.EventConnectionRequest)
			}},
			{"connected", func(t *testing.T, l *udattest.Listener) {
				udattest.ConnectPair(t, l, udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil))
			}},
		} {
			t.Run(way.name, func(t *testing.T) {
				for range fewerOnSIW(t, ia, 3, 1) {
					l := udattest.Listen(t, ia)
					way.use(t, l)
					want(t, l.PSP.Free())
					psp, err := udat.CreatePSP(other, l.ConnQual, evd, udat.PSPConsumer)
					if err != nil {
						t.Fatal(err)
					}
					// It listens, and after that the first can listen again.
					e, peer := udattest.NewEndpoint(t, other, nil), udattest.NewEndpoint(t, other, nil)
					udattest.ConnectPair(t, &udattest.Listener{PSP: psp, Requests: evd, ConnQual: l.ConnQual}, e, peer)
					want(t, psp.Free())
					again, err := udat.CreatePSP(ia, l.ConnQual, l.Requests, udat.PSPConsumer)
					if err != nil {
						t.Fatal(err)
					}
					udattest.ConnectPair(t, &udattest.Listener{PSP: again, Requests: l.Requests, ConnQual: l.ConnQual},
						udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil))
					want(t, again.Free())
				}
			})
		}
	})
}
