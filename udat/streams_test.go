package udat_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Nobody else gets the room of what is outstanding on an endpoint that is replaced
// meanwhile.
func TestModifyKeepsRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		evd := createEVD(t, ia, 16, udat.EVDDTO|udat.EVDSoftware)
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRecvDTOs, attr.MaxRequestDTOs = 4, 4
		ep, err := udat.CreateEP(ia, e.PZ, evd, evd, e.Connect, &attr)
		want(t, err)
		for i := range uint64(3) {
			want(t, ep.PostRecv(one(e.Segment(t, 0, 8)), i, 0))
		}
		posted := 0
		for err == nil {
			err = evd.PostSE(0)
			posted++
		}
		want(t, err, udat.ErrQueueFull)
		if n := qlen(t, evd) - 3; posted-1 != n {
			t.Errorf("%d software events were posted, there is room for %d", posted-1, n)
		}
		stop := beside(func() error {
			if err := evd.PostSE(0); !errors.Is(err, udat.ErrQueueFull) {
				return fmt.Errorf("posting to a full event dispatcher gives %v", err)
			}
			return nil
		})
		for range 20 {
			want(t, ep.Modify(udat.EPFieldMaxMessageSize, &udat.EPParam{Attr: udat.EPAttr{MaxMessageSize: 64}}))
		}
		want(t, receive(t, stop()))

		// Where there is no room for what is outstanding, it does not move.
		small := createEVD(t, ia, 3, udat.EVDDTO) // as many as are outstanding
		attr.MaxRecvDTOs = qlen(t, small) + 1
		other, err := udat.CreateEP(ia, e.PZ, small, e.Request, e.Connect, &attr)
		want(t, err)
		for err == nil {
			err = other.PostRecv(one(e.Segment(t, 0, 8)), 9, 0)
		}
		want(t, err, noRoom...)
		want(t, ep.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: small}), noRoom...)
		want(t, evd.PostSE(0), udat.ErrQueueFull)
		want(t, other.Free())
		want(t, ep.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: small}))
		for range 3 {
			want(t, evd.PostSE(0))
		}
		want(t, evd.PostSE(0), udat.ErrQueueFull)
		want(t, ep.Free())
		want(t, evd.Free())
	})
}
