package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func one(s udat.Segment) []udat.Segment { return []udat.Segment{s} }

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
