package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func one(s udat.Segment) []udat.Segment { return []udat.Segment{s} }

// The peer ends the connection while a graceful disconnect waits for it.
func TestPeerEndsGracefulDisconnect(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		held := hold(t, active, passive, 1)
		want(t, active.Disconnect(udat.CloseGraceful))
		want(t, passive.Disconnect(udat.CloseAbrupt))
		held.restore()
		udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
		event := udattest.Expect(t, active.Request, udat.EventDTOCompletion)
		if event.Err() == nil {
			t.Error("a request that had no answer has succeeded")
		}
		wantState(t, active.EP, udat.EPStateDisconnected)
	})
}

// Both endpoints of a connection change roles, with receives left over from it.
func TestResetAndConnectAgain(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		a, b := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		for round := range uint64(4) {
			udattest.ConnectPair(t, listener, a, b)
			want(t, a.Reset(), udat.ErrInvalidState, udat.InvalidStateEPConnected)
			want(t, b.PostRecv(one(b.Segment(t, 0, 64)), round, 0))
			want(t, b.PostRecv(one(b.Segment(t, 0, 64)), round+100, 0))
			want(t, a.PostSend(one(a.Segment(t, 0, 64)), round, 0))
			event := udattest.Expect(t, b.Recv, udat.EventDTOCompletion)
			want(t, event.Err())
			if event.Cookie != round {
				t.Errorf("round %d: the receive has the cookie %d", round, event.Cookie)
			}
			event = udattest.Expect(t, a.Request, udat.EventDTOCompletion)
			want(t, event.Err())
			want(t, b.Disconnect(udat.CloseGraceful))
			for _, e := range []*udattest.Endpoint{a, b} {
				udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
				want(t, e.Reset())
				wantState(t, e.EP, udat.EPStateUnconnected)
			}
			event = udattest.Expect(t, b.Recv, udat.EventDTOCompletion)
			want(t, event.Err(), udat.DTOErrFlushed)
			if event.Cookie != round+100 {
				t.Errorf("round %d: the flushed receive has the cookie %d", round, event.Cookie)
			}
			wantNoEvent(t, b.Recv)
			a, b = b, a
		}
	})
}

// A receive that is posted as soon as Disconnect returns, before anybody has seen
// an event of it, completes too.
func TestRecvRightAfterDisconnect(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, flags := range []udat.CloseFlags{udat.CloseAbrupt, udat.CloseGraceful} {
			t.Run(flags.String(), func(t *testing.T) {
				active, _ := udattest.Pair(t, ia, nil)
				into := one(active.Segment(t, 0, 8))
				want(t, active.PostRecv(into, 1, 0))
				want(t, active.Disconnect(flags))
				want(t, active.PostRecv(into, 2, 0))
				want(t, active.PostRecv(into, 3, 0))
				for cookie := range uint64(3) {
					if event := udattest.Wait(t, active.Recv); event.Cookie != cookie+1 || event.Status != udat.DTOErrFlushed {
						t.Errorf("receive %d completes with %v, cookie %d", cookie+1, event.Err(), event.Cookie)
					}
				}
				udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
			})
		}
	})
}

// Reset takes the receives back that were posted on an endpoint that has never
// connected, so that their memory can go.
func TestResetTakesReceivesBack(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const posted = 3
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		spare, err := udat.AllocMemory(e.PZ, 4096, udat.MemPrivAll)
		want(t, err)
		segment, err := spare.Segment(0, 8)
		want(t, err)
		for range 2 { // they come back as often as they are posted
			for i := range uint64(posted) {
				want(t, e.PostRecv(one(segment), i, 0))
			}
			want(t, e.Reset())
			wantState(t, e.EP, udat.EPStateUnconnected)
			for i := range uint64(posted) {
				event := udattest.Expect(t, e.Recv, udat.EventDTOCompletion)
				if event.Cookie != i || event.Status != udat.DTOErrFlushed || event.EP() != e.EP {
					t.Errorf("receive %d completes with %+v", i, event)
				}
			}
			if !status(t, e.EP).RecvIdle {
				t.Error("receives are still outstanding")
			}
		}
		want(t, spare.Free())
		want(t, e.Reset()) // does nothing
		wantNoEvent(t, e.Recv)

		// The endpoint is as good as new, also for Modify, which keeps what is posted.
		want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 7, 0))
		want(t, e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: posted}}))
		udattest.ConnectPair(t, udattest.Listen(t, ia), peer, e)
		want(t, peer.PostSend(one(peer.Segment(t, 0, 8)), 1, 0))
		udattest.Completion(t, e.Recv, 7)
	})
}
