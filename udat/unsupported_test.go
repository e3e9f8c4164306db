package udat_test

import (
	"errors"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// What no provider can do is refused with an error that says so, and the object is
// as good as before.
func TestUnsupported(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		ep := active.EP
		iov := one(active.Segment(t, 0, 8))
		for name, err := range map[string]error{
			"EP.RecvQuery":    func() error { _, _, err := ep.RecvQuery(); return err }(),
			"EP.SetWatermark": ep.SetWatermark(1, 2),
		} {
			if !errors.Is(err, udat.ErrNotImplemented) || !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s gives %v", name, err)
			}
		}
		for name, err := range map[string]error{
			"EP.PostSendUD": ep.PostSendUD(iov, udat.IBAddrHandle{}, 1, 0),
			"EP.PostRecvUD": ep.PostRecvUD(iov, 1, 0),
			"EP.FreeUDCM":   ep.FreeUDCM(1),
			"EP.FreeUDAH":   ep.FreeUDAH(udat.IBAddrHandle{}),
		} {
			if !errors.Is(err, udat.ErrModelNotSupported) || !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s gives %v", name, err)
			}
		}
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
		want(t, active.PostSend(iov, 1, 0))
		want(t, udattest.Expect(t, passive.Recv, udat.EventDTOCompletion).Err())
	})
}

// A request that could not be handed off can still be accepted.
func TestHandOff(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		l := udattest.Listen(t, ia)
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		want(t, e.EP.Connect(udattest.Address(t, ia), l.ConnQual, udattest.Patience, nil))
		cr := udattest.Expect(t, l.Requests, udat.EventConnectionRequest).CR()
		want(t, cr.HandOff(1), udat.ErrNotImplemented)
		want(t, cr.Accept(peer.EP, nil))
		udattest.Expect(t, e.Connect, udat.EventConnectionEstablished)
		want(t, cr.HandOff(1), udat.ErrClosed)
	})
}

func TestProviders(t *testing.T) {
	names := udattest.Names(t)
	infos, err := udat.Providers()
	want(t, err)
	for _, name := range names {
		found := false
		for _, info := range infos {
			found = found || info.IAName == name && info.VersionMajor == 2 && !info.ThreadSafe
		}
		if !found {
			t.Errorf("%s is not among the providers: %+v", name, infos)
		}
	}
}
