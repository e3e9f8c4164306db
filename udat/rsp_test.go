package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// reserve makes an endpoint with a reserved service point.
func reserve(t *testing.T, ia *udat.IA) (*udattest.Endpoint, *udat.RSP, *udat.EVD, udat.ConnQual) {
	t.Helper()
	e := udattest.NewEndpoint(t, ia, nil)
	requests := must(udat.CreateEVD(ia, 4, udat.EVDCR))
	qual := udattest.ConnQual()
	rsp := must(udat.CreateRSP(ia, qual, e.EP, requests))
	t.Cleanup(func() {
		_ = rsp.Free()
		want(t, requests.Free())
	})
	return e, rsp, requests, qual
}

func TestRSP(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e, rsp, requests, qual := reserve(t, ia)
		wantState(t, e.EP, udat.EPStateReserved)
		param := must(rsp.Query())
		if param.IA != ia || param.EP != e.EP || param.EVD != requests || param.ConnQual != qual {
			t.Errorf("the service point says %+v", param)
		}
		// There is no second one on the qualifier: the library would replace the first.
		spare := udattest.NewEndpoint(t, ia, nil)
		want(t, second(udat.CreateRSP(ia, qual, spare.EP, requests)), udat.ErrConnQualInUse)
		wantState(t, spare.EP, udat.EPStateUnconnected)

		client := udattest.NewEndpoint(t, ia, nil)
		want(t, client.EP.Connect(udattest.Address(t, ia), qual, udattest.Patience, []byte("hello")))
		cr := udattest.Expect(t, requests, udat.EventConnectionRequest).CR()
		wantState(t, e.EP, udat.EPStatePassiveConnectionPending)
		crParam := must(cr.Query())
		if crParam.LocalEP != e.EP || crParam.RSP != rsp || crParam.PSP != nil {
			t.Errorf("the request says %+v", crParam)
		}
		want(t, e.EP.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 6}}))
		wantState(t, e.EP, udat.EPStatePassiveConnectionPending)

		// The reservation is for one.
		other := udattest.NewEndpoint(t, ia, nil)
		want(t, other.EP.Connect(udattest.Address(t, ia), qual, udattest.Patience, nil))
		if event := udattest.Wait(t, other.Connect); event.Err() == nil {
			t.Errorf("the second client got %v", event.Number)
		}
		want(t, cr.Accept(other.EP, nil), udat.ErrInvalidHandle, udat.InvalidHandleEP)
		// A refusal leaves the reservation as it is.
		want(t, e.EP.Modify(udat.EPFieldConnectEVDHandle, &udat.EPParam{}))
		want(t, cr.Accept(nil, nil), udat.ErrInvalidHandle, udat.InvalidHandleEVDConn)
		wantState(t, e.EP, udat.EPStatePassiveConnectionPending)
		want(t, e.EP.Modify(udat.EPFieldConnectEVDHandle, &udat.EPParam{ConnectEVD: e.Connect}))
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
		e, rsp, _, _ := reserve(t, ia)
		want(t, rsp.Free())
		wantState(t, e.EP, udat.EPStateUnconnected)

		pending, rsp, requests, qual := reserve(t, ia)
		client := udattest.NewEndpoint(t, ia, nil)
		want(t, client.EP.Connect(udattest.Address(t, ia), qual, udattest.Patience, nil))
		cr := udattest.Expect(t, requests, udat.EventConnectionRequest).CR()
		want(t, rsp.Free())
		wantState(t, pending.EP, udat.EPStateUnconnected)
		want(t, cr.Accept(nil, nil), udat.ErrClosed)
		udattest.Expect(t, client.Connect, udat.EventConnectionPeerRejected)

		// Both can be used for something else.
		udattest.ConnectPair(t, udattest.Listen(t, ia), e, pending)
	})
}
