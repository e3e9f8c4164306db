package udat_test

import (
	"testing"

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
		evd := must(udat.CreateEVD(other, 4, udat.EVDCR))
		want(t, second(udat.CreatePSP(other, l.ConnQual, evd, udat.PSPConsumer)), udat.ErrConnQualInUse)
		want(t, second(udat.CreatePSP(ia, udattest.ConnQual(), evd, udat.PSPConsumer)), udat.ErrInvalidHandle, udat.InvalidHandleEVDCR)
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

		evd := must(udat.CreateEVD(ia, 4, udat.EVDCR))
		defer func() { want(t, evd.Free()) }()
		psp := must(udat.CreatePSP(ia, l.ConnQual, evd, udat.PSPConsumer))
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
		psp := must(udat.CreatePSPAny(ia, l.Requests))
		defer func() { want(t, psp.Free()) }()
		param := must(psp.Query())
		if param.IA != ia || param.EVD != l.Requests || param.Flags != udat.PSPConsumer || param.ConnQual == l.ConnQual {
			t.Errorf("the service point says %+v", param)
		}
		any := &udattest.Listener{PSP: psp, Requests: l.Requests, ConnQual: param.ConnQual}
		udattest.ConnectPair(t, any, udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil))
	})
}
