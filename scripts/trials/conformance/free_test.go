package conformance

import (
	"errors"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var freeClauses = []requirement{
	{"Allowed in UNCONNECTED.", freeUnconnected},
	{"Allowed in ACTIVE_CONNECTION_PENDING: the attempt is aborted.", freeConnecting},
	{"Allowed in CONNECTED, DISCONNECT_PENDING and DISCONNECTED.", freeConnected},
	{"In RESERVED an invalid state; once the service point is freed, the endpoint is UNCONNECTED and can be freed.", freeReserved},
	{"In PASSIVE_CONNECTION_PENDING an invalid state; once the request is rejected, the endpoint is UNCONNECTED and can be freed.", freePassivePending},
	{"In TENTATIVE_CONNECTION_PENDING an invalid state; rejecting the request takes the endpoint along.", noState},
	{"Completions that were not taken may be there or not; taking them later is safe.", completionsAfterFree},
	{"Operations that are posted go with the endpoint.", operationsGoAlong},
	{"The endpoint's event streams end: its EVDs can be freed.", streamsEnd},
	{"Any later use of the endpoint is an error.", useAfterFree},
	{"Freeing it again is an error.", freeAgain},
	{"An invalid endpoint is an invalid handle.", invalidHandle((*udat.EP).Free)},
}

// free frees an endpoint, and fails the trial if it still exists.
func (t *trial) free(e *udattest.Endpoint) {
	t.Helper()
	t.must(e.EP.Free())
	_, err := e.GetStatus()
	t.refused(err, udat.ErrInvalidHandle, udat.ErrClosed)
}

func freeUnconnected(t *trial) {
	t.free(t.endpoint())
	e := t.endpoint()
	t.postRecv(e, 1)
	t.free(e)
	a, b := t.pair()
	t.must(a.Disconnect(udat.CloseAbrupt))
	t.disconnected(a, b)
	t.must(a.Reset())
	t.wantState(a, udat.EPStateUnconnected)
	t.free(a)
}

func freeConnecting(t *trial) {
	e, cr := t.connecting(func(e *udattest.Endpoint) { t.postRecv(e, 1) })
	t.free(e)
	// The request that has arrived can no longer be accepted.
	_ = cr.Reject(nil)
	udattest.NoEvent(t, e.Connect)
	t.must(e.Memory.Free())

	// A request that nobody has taken does not hold the endpoint either.
	listener, f := udattest.Listen(t, t.ia), t.endpoint()
	t.must(f.EP.Connect(t.address(), listener.ConnQual, udattest.Patience, nil))
	t.free(f)
}

func freeConnected(t *trial) {
	a, b := t.pair()
	t.free(a)
	t.disconnected(b)

	c, d := t.disconnecting()
	t.free(c)
	t.disconnected(d)

	e, f := t.pair()
	t.must(e.Disconnect(udat.CloseAbrupt))
	t.disconnected(e, f)
	t.free(e)
	t.free(f)
}

func freeReserved(t *trial) {
	e, rsp, _, _ := t.reserved(nil)
	t.refused(e.EP.Free(), udat.ErrInvalidState, udat.InvalidStateEPReserved)
	t.wantState(e, udat.EPStateReserved)
	t.must(rsp.Free())
	t.wantState(e, udat.EPStateUnconnected)
	t.free(e)
}

func freePassivePending(t *trial) {
	e, client, _, cr := t.passive()
	t.refused(e.EP.Free(), udat.ErrInvalidState, udat.InvalidStateEPPassConnPending)
	t.wantState(e, udat.EPStatePassiveConnectionPending)
	t.must(cr.Reject(nil))
	udattest.Expect(t, client.Connect, udat.EventConnectionPeerRejected)
	t.wantState(e, udat.EPStateUnconnected)
	t.free(e)
}

func completionsAfterFree(t *trial) {
	a, b := t.pair()
	t.postRecv(b, series(0, 8)...)
	t.postSend(a, series(0, 4)...)
	for range 4 {
		udattest.Expect(t, a.Request, udat.EventDTOCompletion)
	}
	// Four receives have completed, four have not, and nobody has taken a completion.
	t.free(b)
	events := make([]udat.Event, 16)
	for _, evd := range []*udat.EVD{b.Recv, b.Request, b.Connect} {
		n, err := evd.Poll(events)
		if err != nil && !errors.Is(err, udat.ErrQueueEmpty) {
			t.Error(err)
		}
		for _, event := range events[:n] {
			if event.Number == udat.EventDTOCompletion && event.Cookie >= 8 {
				t.Errorf("there is the completion %+v", event)
			}
			if ep := event.EP(); ep != nil {
				_, err := ep.GetStatus()
				t.refused(err, udat.ErrClosed)
			}
		}
		if err := quiet(evd, 0); err != nil {
			t.Error(err)
		}
	}
	t.disconnected(a)
	// Other endpoints can use the EVDs.
	var err error
	b.EP, err = udat.CreateEP(t.ia, b.PZ, b.Recv, b.Request, b.Connect, nil)
	t.must(err)
	t.cleanup(b.EP)
	t.must(a.Reset())
	t.connectTo(a, b)
	t.exchange(a, b)
}

func operationsGoAlong(t *trial) {
	a, b := t.pair()
	t.postRecv(a, series(0, 8)...)
	t.stick(a, b, 9)
	t.postRead(a, b, 10)
	t.free(a)
	t.must(a.Memory.Free())
	t.disconnected(b)
	t.freeRegions()
	t.must(a.PZ.Free())

	// The same for operations posted before a connection.
	e := t.endpoint()
	t.postRecv(e, 1, 2)
	t.free(e)
	t.must(e.Memory.Free())
}

func streamsEnd(t *trial) {
	for _, e := range func() []*udattest.Endpoint {
		a, b := t.pair()
		t.postRecv(a, 1, 2)
		t.postSend(a, 3)
		t.postRecv(b, 4, 5)
		return []*udattest.Endpoint{a, b, t.endpoint()}
	}() {
		for _, evd := range []*udat.EVD{e.Recv, e.Request, e.Connect} {
			t.refused(evd.Free(), udat.ErrInvalidState, udat.InvalidStateEVDInUse)
		}
		t.free(e)
		for _, evd := range []*udat.EVD{e.Recv, e.Request, e.Connect} {
			t.must(evd.Free())
		}
	}
}

func useAfterFree(t *trial) {
	listener, queue := udattest.Listen(t, t.ia), t.evd(8, udat.EVDCR)
	origin, peer := t.pair()
	client, e := t.endpoint(), t.endpoint()
	s, address, cr := e.Segment(t, 0, 8), t.address(), t.ask(listener, client)
	ep := e.EP
	t.free(e)
	errs := map[string]error{
		"connect":     ep.Connect(address, listener.ConnQual, udattest.Patience, nil),
		"dup_connect": ep.DupConnect(origin.EP, udattest.Patience, nil),
		"dup source":  peer.DupConnect(ep, udattest.Patience, nil),
		"disconnect":  ep.Disconnect(udat.CloseAbrupt),
		"reset":       ep.Reset(),
		"free":        ep.Free(),
		"get_status":  func() error { _, err := ep.GetStatus(); return err }(),
		"query":       func() error { _, err := ep.Query(); return err }(),
		"modify":      ep.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 5}}),
		"recv":        ep.PostRecv(one(s), 1, 0),
		"rsp_create":  func() error { _, err := udat.CreateRSP(t.ia, udattest.ConnQual(), ep, queue); return err }(),
		"cr_accept":   cr.Accept(ep, nil),
	}
	for name, post := range requests(s, t.remote(peer)) {
		errs[name] = post(ep)
	}
	for name, err := range errs {
		if !errors.Is(err, udat.ErrInvalidHandle) || !errors.Is(err, udat.ErrClosed) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	// The failed accept did not answer the request.
	t.must(cr.Reject(nil))
	udattest.Expect(t, client.Connect, udat.EventConnectionPeerRejected)
}

func freeAgain(t *trial) {
	e := t.endpoint()
	t.must(e.EP.Free())
	for range 3 {
		t.refused(e.EP.Free(), udat.ErrInvalidHandle, udat.ErrClosed)
	}
	// It does not affect the endpoint that has replaced it.
	other := t.endpoint()
	t.refused(e.EP.Free(), udat.ErrClosed)
	t.wantState(other, udat.EPStateUnconnected)
}
