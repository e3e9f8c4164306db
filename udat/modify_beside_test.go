package udat_test

import (
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// modifyIOV is a Modify that changes nothing that matters here, and replaces the native endpoint.
func modifyIOV(t *testing.T, ep *udat.EP, segments int) {
	t.Helper()
	want(t, ep.Modify(udat.EPFieldMaxRecvIOV, &udat.EPParam{Attr: udat.EPAttr{MaxRecvIOV: segments}}))
}

// A Connect that the library refuses at once leaves the receives as they are, for a later Modify, too.
func TestModifyAfterRefusedConnect(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 1, 0))
		if err := e.EP.Connect(netip.MustParseAddr("203.0.113.9"), udattest.ConnQual(), udat.TimeoutInfinite, nil); err == nil {
			t.Log("the provider finds out later that there is no route")
			return
		}
		wantState(t, e.EP, udat.EPStateUnconnected)
		modifyIOV(t, e.EP, 1)
		if s := status(t, e.EP); s.RecvIdle {
			t.Error("the receive is over")
		}
		wantNoEvent(t, e.Recv)
	})
}

// A receive that is posted beside a Modify comes behind those that were posted before.
func TestModifyBesidePostRecv(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const before = 15
		e := udattest.NewEndpoint(t, ia, &udat.EPAttr{MaxRecvDTOs: before + 1})
		for range 100 {
			for i := range uint64(before) {
				want(t, e.PostRecv(one(e.Segment(t, 0, 8)), i, 0))
			}
			segment := e.Segment(t, 0, 8)
			together(func() { modifyIOV(t, e.EP, 1) }, func() { want(t, e.PostRecv(one(segment), before, 0)) })
			want(t, e.EP.Connect(udattest.Address(t, ia), udattest.ConnQual(), udattest.Patience, nil))
			udattest.Expect(t, e.Connect, udat.EventConnectionNonPeerRejected)
			for i := range uint64(before + 1) {
				if event := udattest.Expect(t, e.Recv, udat.EventDTOCompletion); event.Cookie != i {
					t.Fatalf("receive %d completes as number %d", event.Cookie, i)
				}
			}
			want(t, e.Reset())
		}
	})
}

// What an endpoint keeps through a Modify cannot be freed beside it.
func TestModifyBesideFree(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 1, 0))
		var modified atomic.Bool
		together(func() {
			for i := range 100 {
				modifyIOV(t, e.EP, 1+i%2)
			}
			modified.Store(true)
		}, func() {
			for !modified.Load() && !t.Failed() {
				want(t, e.Recv.Free(), udat.ErrInvalidState, udat.InvalidStateEVDInUse)
			}
		})
		if s := status(t, e.EP); s.RecvIdle {
			t.Error("the receive is over")
		}
		wantNoEvent(t, e.Recv)
	})
}

// An EVD is made longer or shorter beside a Modify that has an endpoint use it.
func TestModifyBesideResize(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !canResize(t, ia) {
			return
		}
		listener := udattest.Listen(t, ia)
		e, other, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		want(t, other.EP.Free())
		for i := range 100 {
			evds := []*udat.EVD{e.Recv, other.Recv}
			next := evds[1-i%2]
			together(
				func() { want(t, e.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: next})) },
				func() { want(t, next.Resize(64+i)) },
			)
		}
		udattest.ConnectPair(t, listener, peer, e)
		want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 1, 0))
		want(t, peer.PostSend(one(peer.Segment(t, 0, 8)), 2, 0))
		event := udattest.Completion(t, e.Recv, 1)
		want(t, event.Err())
	})
}
