package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// The port of the native endpoint, which Modify replaces, is not shown as long as
// there is no connection that could have it.
func TestModifyLeavesPort(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		before, err := e.Query()
		want(t, err)
		want(t, e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 5}}))
		after, err := e.Query()
		want(t, err)
		if before.LocalPortQual != after.LocalPortQual {
			t.Errorf("the port was %d and is %d", before.LocalPortQual, after.LocalPortQual)
		}
	})
}

// An endpoint is not modified to take fewer receives than are posted, which stay.
func TestModifyBelowPosted(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		for i := range uint64(2) {
			want(t, e.PostRecv(one(e.Segment(t, 64*int(i), 64)), i, 0))
		}
		want(t, e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 1}}), udat.ErrInvalidParameter)
		udattest.ConnectPair(t, udattest.Listen(t, ia), peer, e)
		for i := range uint64(2) {
			want(t, peer.PostSend(one(peer.Segment(t, 0, 64)), i, 0))
			udattest.Completion(t, e.Recv, i)
		}
	})
}
