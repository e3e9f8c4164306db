package udat_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func attributes(t *testing.T, ep *udat.EP) udat.EPAttr {
	t.Helper()
	p, err := ep.Query()
	if err != nil {
		t.Fatal(err)
	}
	return p.Attr
}

// After a Modify of every field that can change, receives that were posted are
// still there, and the endpoint connects and transfers by the new values.
func TestModifyLeavesWorkingEndpoint(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		other := udattest.NewEndpoint(t, ia, nil) // made first, to be freed last
		a, b := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		for i := range uint64(3) {
			want(t, b.PostRecv(one(b.Segment(t, 0, 64)), i, 0))
		}
		attr := attributes(t, b.EP)
		attr.MaxMessageSize = 8192
		attr.MaxRDMASize = 16384
		attr.MaxRecvDTOs += 5
		attr.MaxRequestDTOs += 7
		attr.MaxRecvIOV = 2
		attr.MaxRequestIOV = 3
		attr.MaxRDMAReadIn = 2
		attr.MaxRDMAReadOut = 2
		const fields = udat.EPFieldMaxMessageSize | udat.EPFieldMaxRDMASize | udat.EPFieldMaxRecvDTOs | udat.EPFieldMaxRequestDTOs |
			udat.EPFieldMaxRecvIOV | udat.EPFieldMaxRequestIOV | udat.EPFieldMaxRDMAReadIn | udat.EPFieldMaxRDMAReadOut |
			udat.EPFieldRecvEVDHandle | udat.EPFieldRequestEVDHandle | udat.EPFieldConnectEVDHandle
		want(t, b.Modify(fields, &udat.EPParam{Attr: attr, RecvEVD: other.Recv, RequestEVD: other.Request, ConnectEVD: other.Connect}))
		if diff := cmp.Diff(attr, attributes(t, b.EP)); diff != "" {
			t.Errorf("the attributes are not those that were asked for (-want +got):\n%s", diff)
		}
		if s := status(t, b.EP); s.State != udat.EPStateUnconnected || s.RecvIdle {
			t.Errorf("the status is %+v", s)
		}
		wantNoEvent(t, b.Recv)
		b.Recv, b.Request, b.Connect = other.Recv, other.Request, other.Connect

		udattest.ConnectPair(t, listener, a, b)
		for i := range uint64(attr.MaxRecvDTOs) {
			if i >= 3 {
				want(t, b.PostRecv(one(b.Segment(t, 0, 64)), i, 0))
			}
		}
		want(t, b.PostRecv(one(b.Segment(t, 0, 64)), 0, 0), udat.ErrInsufficientResources)
		for i := range uint64(attr.MaxRecvDTOs) {
			want(t, a.PostSend(one(a.Segment(t, 0, 64)), i, 0))
			event := udattest.Expect(t, a.Request, udat.EventDTOCompletion)
			want(t, event.Err())
			event = udattest.Expect(t, b.Recv, udat.EventDTOCompletion)
			want(t, event.Err())
			if event.Cookie != i || event.EP() != b.EP {
				t.Errorf("message %d came with the cookie %d", i, event.Cookie)
			}
		}
		want(t, b.PostSend(one(b.Segment(t, 0, 8193)), 0, 0), udat.ErrInvalidParameter)
		remote, err := a.Memory.RMRTriplet(0, 20000)
		want(t, err)
		want(t, b.PostRDMAWrite(one(b.Segment(t, 0, 16385)), 0, remote, 0), udat.ErrInvalidParameter)
		want(t, b.PostRDMAWrite(one(b.Segment(t, 0, 16384)), 0, remote, 0))
		written := udattest.Expect(t, b.Request, udat.EventDTOCompletion)
		want(t, written.Err())
		s := b.Segment(t, 0, 8)
		want(t, b.PostSend([]udat.Segment{s, s, s, s}, 0, 0), udat.ErrInvalidParameter, udat.InvalidArg2)
		want(t, a.PostRecv(one(a.Segment(t, 0, 64)), 0, 0))
		want(t, b.PostSend([]udat.Segment{s, s, s}, 0, 0))
		event := udattest.Expect(t, a.Recv, udat.EventDTOCompletion)
		if event.Err() != nil || event.Length != 24 {
			t.Errorf("three segments arrived as %+v", event)
		}
		want(t, b.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: attr}), udat.ErrInvalidState, udat.InvalidStateEPConnected)
	})
}

// With a new protection zone, only receives in its memory stay.
func TestModifyProtectionZone(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		other, e := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		want(t, e.PostRecv(one(e.Segment(t, 0, 64)), 1, 0))
		want(t, e.PostRecv(one(other.Segment(t, 0, 64)), 2, 0), udat.ErrProtectionViolation)
		want(t, e.Modify(udat.EPFieldPZHandle, &udat.EPParam{PZ: other.PZ}))
		event := udattest.Expect(t, e.Recv, udat.EventDTOCompletion)
		if event.Cookie != 1 || event.Status != udat.DTOErrLocalProtection {
			t.Errorf("the receive of the old zone completed as %+v", event)
		}
		want(t, e.PostRecv(one(other.Segment(t, 0, 64)), 2, 0))
		want(t, e.Memory.Free())
		want(t, e.PZ.Free()) // nothing is in it any more
		want(t, other.PZ.Free(), udat.ErrInvalidState, udat.InvalidStatePZInUse)
	})
}

func TestModifyRefusals(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		before := attributes(t, e.EP)
		for _, f := range []udat.EPParamMask{
			udat.EPFieldIAHandle, udat.EPFieldEPState, udat.EPFieldLocalIAAddressPtr, udat.EPFieldLocalPortQual,
			udat.EPFieldRemoteIAAddressPtr, udat.EPFieldRemotePortQual, 1 << 40,
		} {
			want(t, e.Modify(f|udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 3}}), udat.ErrInvalidParameter, udat.InvalidArg2)
		}
		want(t, e.Modify(udat.EPFieldSRQHandle, &udat.EPParam{}), udat.ErrNotImplemented)
		want(t, e.Modify(udat.EPFieldPZHandle, &udat.EPParam{}), udat.ErrInvalidHandle, udat.InvalidHandlePZ)
		want(t, e.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: e.Connect}), udat.ErrInvalidHandle, udat.InvalidHandleEVDRecv)
		want(t, e.Modify(udat.EPFieldMaxRecvDTOs, nil), udat.ErrInvalidParameter)
		want(t, e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: -1}}), udat.ErrInvalidParameter)
		want(t, e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 4096}}), udat.ErrInsufficientResources)
		want(t, e.Modify(0, &udat.EPParam{}))
		if diff := cmp.Diff(before, attributes(t, e.EP)); diff != "" {
			t.Errorf("the attributes changed (-before +after):\n%s", diff)
		}
		want(t, e.PostRecv(one(e.Segment(t, 0, 64)), 1, 0))
		want(t, e.PostRecv(one(e.Segment(t, 0, 64)), 2, 0))
		want(t, e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 1}}), udat.ErrInvalidParameter)
	})
}
