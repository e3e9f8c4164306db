package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// The adapter reports the last receive of a connection of a shared receive queue. A
// report that is taken when the endpoint is gone is not of the one that has its
// handle now: that one would be disconnected for it.
func TestReportOfFormerEndpoint(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		rounds := fewerOnSIW(t, ia, 30, 10)
		s := newShared(t, ia, 4, 0)
		listener := udattest.Listen(t, ia)
		want(t, s.srq.PostRecv(one(s.Segment(t, 0, 64)), 0))
		create := func() *udat.EP {
			ep, err := udat.CreateEPWithSRQ(ia, s.PZ, s.Recv, s.Request, s.Connect, s.srq, nil)
			want(t, err)
			return ep
		}
		ep := create()
		t.Cleanup(func() { want(t, ep.Free()) })
		for range rounds {
			client := s.client(t, listener, ep)
			want(t, ep.Free())
			ep = create()
			_, err := ia.AsyncEVD().Poll(make([]udat.Event, 16))
			want(t, err)
			if udat.Breaking(ep) {
				t.Fatal("a new endpoint is taken for broken")
			}
			udattest.Expect(t, client.Connect, udat.EventConnectionDisconnected)
			want(t, client.EP.Free())
		}
	})
}
