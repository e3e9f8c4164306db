package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// reserve makes a service point for an endpoint, which is freed at the end of the test.
func reserve(t *testing.T, e *udattest.Endpoint) (*udat.RSP, *udattest.Listener) {
	t.Helper()
	l := &udattest.Listener{Requests: createEVD(t, e.IA, 4, udat.EVDCR), ConnQual: udattest.ConnQual()}
	return untilEnd(t, must(udat.CreateRSP(e.IA, l.ConnQual, e.EP, l.Requests))), l
}

func TestRSP(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		rsp, l := reserve(t, e)
		wantState(t, e.EP, udat.EPStateReserved)
		if param := must(rsp.Query()); param != (udat.RSPParam{IA: ia, ConnQual: l.ConnQual, EVD: l.Requests, EP: e.EP}) {
			t.Errorf("the service point says %+v", param)
		}
		// There is no second one on the qualifier: the library would replace the first.
		spare := udattest.NewEndpoint(t, ia, nil)
		want(t, second(udat.CreateRSP(ia, l.ConnQual, spare.EP, l.Requests)), udat.ErrConnQualInUse)
		wantState(t, spare.EP, udat.EPStateUnconnected)

		client := udattest.NewEndpoint(t, ia, nil)
		cr := request(t, client, l)
		wantState(t, e.EP, udat.EPStatePassiveConnectionPending)
		crParam := must(cr.Query())
		if crParam.LocalEP != e.EP || crParam.RSP != rsp || crParam.PSP != nil {
			t.Errorf("the request says %+v", crParam)
		}
		want(t, e.EP.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 6}}))
		wantState(t, e.EP, udat.EPStatePassiveConnectionPending)

		// The reservation is for one.
		other := udattest.NewEndpoint(t, ia, nil)
		want(t, other.EP.Connect(udattest.Address(t, ia), l.ConnQual, udattest.Patience, nil))
		if event := udattest.Wait(t, other.Connect); event.Err() == nil {
			t.Errorf("the second client got %v", event.Number)
		}
		want(t, cr.Accept(other.EP, nil), udat.ErrInvalidHandle, udat.InvalidHandleEP)
		// A refusal leaves the reservation as it is.
		want(t, e.EP.Modify(udat.EPFieldConnectEVD, &udat.EPParam{}))
		want(t, cr.Accept(nil, nil), udat.ErrInvalidHandle, udat.InvalidHandleEVDConn)
		wantState(t, e.EP, udat.EPStatePassiveConnectionPending)
		want(t, e.EP.Modify(udat.EPFieldConnectEVD, &udat.EPParam{ConnectEVD: e.Connect}))
		want(t, cr.Accept(nil, nil))
		udattest.Expect(t, client.Connect, udat.EventConnectionEstablished)
		udattest.Expect(t, e.Connect, udat.EventConnectionEstablished)
		want(t, rsp.Free())
		want(t, rsp.Free(), udat.ErrClosed)
		wantState(t, e.EP, udat.EPStateConnected)
		want(t, e.EP.Free())
	})
}

// Freeing the service point releases the endpoint, with a request or without.
func TestFreeRSP(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, pending, client := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		rsp, _ := reserve(t, e)
		want(t, rsp.Free())
		wantState(t, e.EP, udat.EPStateUnconnected)

		rsp, l := reserve(t, pending)
		cr := request(t, client, l)
		want(t, rsp.Free())
		wantState(t, pending.EP, udat.EPStateUnconnected)
		want(t, cr.Accept(nil, nil), udat.ErrClosed)
		udattest.Expect(t, client.Connect, udat.EventConnectionPeerRejected)

		// Both can be used for something else.
		udattest.ConnectPair(t, udattest.Listen(t, ia), e, pending)
	})
}
