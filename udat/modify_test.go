package udat_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

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
		attr := b.Attr(t)
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
		if diff := cmp.Diff(attr, b.Attr(t)); diff != "" {
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

func TestModifyRefusals(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		before := e.Attr(t)
		for _, f := range []udat.EPParamMask{
			udat.EPFieldIAHandle, udat.EPFieldEPState, udat.EPFieldLocalIAAddressPtr, udat.EPFieldLocalPortQual,
			udat.EPFieldRemoteIAAddressPtr, udat.EPFieldRemotePortQual, 1 << 40,
		} {
			want(t, e.Modify(f|udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 3}}), udat.ErrInvalidParameter, udat.InvalidArg2)
		}
		want(t, e.Modify(udat.EPFieldSRQHandle, &udat.EPParam{}), udat.ErrInvalidParameter, errors.ErrUnsupported)
		want(t, e.Modify(udat.EPFieldServiceType, &udat.EPParam{Attr: udat.EPAttr{ServiceType: 7}}), udat.ErrInvalidParameter, errors.ErrUnsupported)
		want(t, e.Modify(udat.EPFieldQOS, &udat.EPParam{Attr: udat.EPAttr{QOS: 8}}), udat.ErrInvalidParameter, errors.ErrUnsupported)
		want(t, e.Modify(udat.EPFieldPZHandle, &udat.EPParam{}), udat.ErrInvalidHandle, udat.InvalidHandlePZ)
		want(t, e.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: e.Connect}), udat.ErrInvalidHandle, udat.InvalidHandleEVDRecv)
		want(t, e.Modify(udat.EPFieldMaxRecvDTOs, nil), udat.ErrInvalidParameter)
		want(t, e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: -1}}), udat.ErrInvalidParameter)
		want(t, e.Modify(0, &udat.EPParam{}))
		if diff := cmp.Diff(before, e.Attr(t)); diff != "" {
			t.Errorf("the attributes changed (-before +after):\n%s", diff)
		}
		want(t, e.PostRecv(one(e.Segment(t, 0, 64)), 1, 0))
		want(t, e.PostRecv(one(e.Segment(t, 0, 64)), 2, 0))
		want(t, e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 1}}), udat.ErrInvalidParameter)
	})
}

// Receives that are posted while the endpoint is modified count as those before.
func TestModifyBesidePosts(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		release := udat.HoldRequests(e.EP)
		modified := make(chan error, 1)
		go func() {
			modified <- e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 1}})
		}()
		udat.AwaitControl(e.EP)
		for i := range uint64(2) {
			want(t, e.PostRecv(one(e.Segment(t, 64*int(i), 64)), i, 0))
		}
		release()
		want(t, receive(t, modified), udat.ErrInvalidParameter)
		udattest.ConnectPair(t, udattest.Listen(t, ia), peer, e)
		for i := range uint64(2) {
			want(t, peer.PostSend(one(peer.Segment(t, 0, 64)), i, 0))
			udattest.Completion(t, e.Recv, i)
		}
	})
}

// Parts of another adapter, which the library would take, are refused.
func TestModifyForeignParts(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, foreign := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, udattest.Open(t, ia.Name()), nil)
		want(t, e.Modify(udat.EPFieldPZHandle, &udat.EPParam{PZ: foreign.PZ}), udat.ErrInvalidHandle, udat.InvalidHandlePZ)
		want(t, e.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: foreign.Recv}), udat.ErrInvalidHandle, udat.InvalidHandleEVDRecv)
		want(t, e.Modify(udat.EPFieldRequestEVDHandle, &udat.EPParam{RequestEVD: foreign.Request}), udat.ErrInvalidHandle, udat.InvalidHandleEVDRequest)
		want(t, e.Modify(udat.EPFieldConnectEVDHandle, &udat.EPParam{ConnectEVD: foreign.Connect}), udat.ErrInvalidHandle, udat.InvalidHandleEVDConn)
		want(t, foreign.PZ.Free(), udat.ErrInvalidState) // its own endpoint is in it still
	})
}
