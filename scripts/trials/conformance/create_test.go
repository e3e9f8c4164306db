package conformance

import (
	"errors"

	"github.com/goudat/goudat/scripts/trials/internal/process"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var createClauses = []requirement{
	{"A new endpoint is in UNCONNECTED.", createdUnconnected},
	{"A call that fails makes no endpoint.", failureGivesNothing},
	{"The receive EVD may be left out: nobody wants receive completions.", withoutReceiveEVD},
	{"The request EVD may be left out: nobody wants request completions.", withoutRequestEVD},
	{"The connect EVD may be left out for the time being.", withoutConnectEVD},
	{"Attributes may be left out; query tells the provider's defaults.", defaultsAreTold},
	{"An endpoint made without attributes can be queried, asked for its status, modified and freed.", defaultsSuffice},
	{"Local buffers must lie in memory of the endpoint's protection zone.", localMemoryInZone},
	{"A peer's RDMA reaches only memory of the endpoint's protection zone.", remoteMemoryInZone},
	{"Receives complete on the receive EVD.", receivesComplete},
	{"Sends, RDMA reads and RDMA writes complete on the request EVD.", requestsComplete},
	{"RMR binds complete on the request EVD.", bindsComplete},
	{"Connection events come to the connect EVD.", connectionEvents},
	{"The endpoint can begin a connection by connect.", beginsByConnect},
	{"The endpoint can begin a connection by dup_connect.", beginsByDupConnect},
	{"The endpoint can accept a connection request that has no local endpoint.", acceptsPending},
	{"The endpoint can be given to a reserved service point, and accepts the request that comes there.", acceptsReserved},
	{"All completion streams on an EVD have the same completion flags; others are an invalid parameter.", sameFlags},
	{"An EVD that is fed by anything besides completions allows threshold flags only.", mixedEVDTakesThreshold},
	{"If one stream on an EVD is UNSIGNALLED, all of them are.", unsignalledAlone},
	{"If one receive stream on an EVD is SOLICITED_WAIT, all of them are, and nothing else uses the EVD.", solicitedAlone},
	{"An invalid adapter, protection zone or EVD is an invalid handle.", createInvalidHandles},
	{"Attributes beyond the adapter's limits, and combinations that make no sense, are invalid parameters.", createInvalidAttributes},
	{"What there is no room for is refused for insufficient resources.", createWithoutRoom},
	{"A provider model that is not supported is refused as such.", neverShown(
		"in Go, attributes name no model that the provider lacks: there is one service type and one quality of service", "a provider with others")},
	{"Endpoints can be created on one adapter at the same time.", createConcurrently},
}

func createdUnconnected(t *trial) {
	e := t.endpoint()
	t.wantState(e, udat.EPStateUnconnected)
	t.wantIdle(e, true, true)
	if state := t.query(e).State; state != udat.EPStateUnconnected {
		t.Errorf("query returned the state %v", state)
	}
}

func failureGivesNothing(t *trial) {
	e := t.endpoint()
	wrong := t.query(e).Attr
	many := wrong
	wrong.MaxRecvDTOs, many.MaxRecvDTOs = -1, 1<<30
	before := len(udat.Living())
	for name, create := range map[string]func() (*udat.EP, error){
		"adapter":   func() (*udat.EP, error) { return udat.CreateEP(nil, e.PZ, e.Recv, e.Request, e.Connect, nil) },
		"zone":      func() (*udat.EP, error) { return udat.CreateEP(t.ia, nil, e.Recv, e.Request, e.Connect, nil) },
		"EVD":       func() (*udat.EP, error) { return udat.CreateEP(t.ia, e.PZ, e.Connect, e.Request, e.Connect, nil) },
		"attribute": func() (*udat.EP, error) { return udat.CreateEP(t.ia, e.PZ, e.Recv, e.Request, e.Connect, &wrong) },
		"limit":     func() (*udat.EP, error) { return udat.CreateEP(t.ia, e.PZ, e.Recv, e.Request, e.Connect, &many) },
	} {
		ep, err := create()
		if err == nil || ep != nil {
			t.Errorf("with a wrong %s the call returns %v, %v", name, ep, err)
		}
	}
	if n := len(udat.Living()); n != before {
		t.Errorf("the calls have left %d objects", n-before)
	}
}

// connectTo connects an endpoint, which may lack EVDs, to another.
func (t *trial) connectTo(active, passive *udattest.Endpoint) {
	t.Helper()
	udattest.ConnectPair(t, udattest.Listen(t, t.ia), active, passive)
}

// lacking makes an endpoint without some event dispatchers.
func (t *trial) lacking(recv, request, connect bool) *udattest.Endpoint {
	t.Helper()
	e := t.endpoint()
	if recv {
		e.Recv = nil
	}
	if request {
		e.Request = nil
	}
	if connect {
		e.Connect = nil
	}
	ep, err := udat.CreateEP(t.ia, e.PZ, e.Recv, e.Request, e.Connect, nil)
	t.must(err)
	t.cleanup(ep)
	t.must(e.EP.Free())
	e.EP = ep
	t.wantState(e, udat.EPStateUnconnected)
	return e
}

const noDirection = "the direction that lacks its EVD takes no posts, since the providers allow it no operations"

func withoutReceiveEVD(t *trial) {
	peer, e := t.endpoint(), t.lacking(true, false, false)
	t.connectTo(e, peer)
	t.exchange(e, peer)
	t.refused(e.PostRecv(one(e.Segment(t, 0, message)), 1, 0), udat.ErrInvalidState)
	t.remark(noDirection)
}

func withoutRequestEVD(t *trial) {
	peer, e := t.endpoint(), t.lacking(false, true, false)
	t.connectTo(peer, e)
	t.exchange(peer, e)
	t.refused(e.PostSend(one(e.Segment(t, 0, message)), 1, 0), udat.ErrInvalidState)
	t.remark(noDirection)
}

func withoutConnectEVD(t *trial) {
	peer, e := t.endpoint(), t.lacking(false, false, true)
	t.postRecv(e, 1)
	t.refused(e.EP.Connect(t.address(), udattest.ConnQual(), udattest.Patience, nil), udat.ErrInvalidHandle, udat.InvalidHandleEVDConn)
	e.Connect = t.evd(16, udat.EVDConnection)
	t.must(e.Modify(udat.EPFieldConnectEVD, &udat.EPParam{ConnectEVD: e.Connect}))
	t.connectTo(e, peer)
	t.postSend(peer, 2)
	udattest.Completion(t, e.Recv, 1)
	udattest.Completion(t, peer.Request, 2)
	t.must(e.EP.Free()) // before its EVD
}

func defaultsAreTold(t *trial) {
	a := t.query(t.endpoint()).Attr
	if a.MaxMessageSize == 0 || a.MaxRDMASize == 0 || a.MaxRecvDTOs < 1 || a.MaxRequestDTOs < 1 ||
		a.MaxRecvIOV < 1 || a.MaxRequestIOV < 1 {
		t.Errorf("the defaults are %+v", a)
	}
	// As attributes, they make the same endpoint.
	if b := t.query(udattest.NewEndpoint(t, t.ia, &a)).Attr; a != b {
		t.Errorf("the defaults make an endpoint with %+v, want %+v", b, a)
	}
	// The adapter reports them, and a field that is left out has its default.
	if b := t.ia.DefaultEPAttr(); a != b {
		t.Errorf("the adapter reports the defaults %+v, want %+v", b, a)
	}
	want := a
	want.MaxRecvDTOs = 24
	if b := t.query(udattest.NewEndpoint(t, t.ia, &udat.EPAttr{MaxRecvDTOs: 24})).Attr; b != want {
		t.Errorf("an endpoint with MaxRecvDTOs alone has %+v, want %+v", b, want)
	}
}

func defaultsSuffice(t *trial) {
	e := t.endpoint()
	t.query(e)
	t.status(e)
	t.must(e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 3}}))
	t.postRecv(e, 1, 2, 3)
	t.refused(e.PostRecv(one(e.Segment(t, 0, message)), 4, 0), udat.ErrInsufficientResources)
	t.must(e.EP.Free())
}

func localMemoryInZone(t *trial) {
	_, foreign := t.zone()
	a, b := t.pair()
	outside, err := foreign.Segment(0, message)
	t.must(err)
	remote := t.remote(b)
	t.refused(a.PostRecv(one(outside), 1, 0), udat.ErrProtectionViolation)
	t.refused(a.PostSend(one(outside), 1, 0), udat.ErrProtectionViolation)
	t.refused(a.PostRDMARead(one(outside), 1, remote, 0), udat.ErrProtectionViolation)
	t.refused(a.PostRDMAWrite(one(outside), 1, remote, 0), udat.ErrProtectionViolation)
	if t.segments(2) == 2 {
		t.refused(a.PostSend([]udat.Segment{a.Segment(t, 0, 8), outside}, 1, 0), udat.ErrProtectionViolation)
	}
	t.wantIdle(a, true, true)
	t.exchange(a, b) // goes on
	t.postRead(a, b, 2)
	udattest.Completion(t, a.Request, 2)
}

func remoteMemoryInZone(t *trial) {
	_, foreign := t.zone()
	a, b := t.pair()
	copy(b.Memory.Bytes(), "inside")
	t.postRead(a, b, 1)
	udattest.Completion(t, a.Request, 1)
	if got := a.Memory.Bytes()[:6]; string(got) != "inside" {
		t.Errorf("read %q", got)
	}
	outside, err := foreign.RMRTriplet(0, message)
	t.must(err)
	copy(foreign.Bytes(), "before")
	copy(a.Memory.Bytes(), "after!")
	t.must(a.PostRDMAWrite(one(a.Segment(t, 0, message)), 2, outside, 0))
	event := udattest.Expect(t, a.Request, udat.EventDTOCompletion)
	switch {
	case t.iwarp:
		t.disconnected(a) // when the peer has refused it
	case event.Err() == nil:
		t.Error("an RDMA write to memory outside the zone has succeeded")
	}
	if got := foreign.Bytes()[:6]; string(got) != "before" {
		t.Errorf("the memory outside the zone has %q", got)
	}
	c, _ := t.pair()
	t.must(c.PostRDMARead(one(c.Segment(t, 0, message)), 3, outside, 0))
	if event := udattest.Expect(t, c.Request, udat.EventDTOCompletion); event.Err() == nil {
		t.Error("an RDMA read of memory outside the zone has succeeded")
	}
}

func receivesComplete(t *trial) {
	a, b := t.pair()
	t.postRecv(b, 7)
	t.postSend(a, 8)
	event := udattest.Completion(t, b.Recv, 7)
	if event.EP() != b.EP || event.Operation != udat.DTOReceive || event.Length != message {
		t.Errorf("the receive completes as %+v", event)
	}
	udattest.NoEvent(t, b.Request)
	udattest.NoEvent(t, b.Connect)
	udattest.Completion(t, a.Request, 8)
}

func requestsComplete(t *trial) {
	a, b := t.pair()
	t.postRecv(b, 1)
	for _, r := range []struct {
		post      func()
		operation udat.DTO
	}{
		{func() { t.postSend(a, 5) }, udat.DTOSend},
		{func() { t.postRead(a, b, 5) }, udat.DTORDMARead},
		{func() { t.postWrite(a, b, 5) }, udat.DTORDMAWrite},
	} {
		r.post()
		if event := udattest.Completion(t, a.Request, 5); event.EP() != a.EP || event.Operation != r.operation {
			t.Errorf("the operation %v completes as %+v", r.operation, event)
		}
		udattest.NoEvent(t, a.Recv)
		udattest.NoEvent(t, a.Connect)
	}
	udattest.Completion(t, b.Recv, 1)
	udattest.NoEvent(t, b.Request)
}

func bindsComplete(t *trial) {
	pz, _ := t.zone()
	if rmr, err := udat.CreateRMR(pz); err == nil {
		t.must(rmr.Free())
	} else {
		t.refused(err, errors.ErrUnsupported)
		if rmr != nil {
			t.Error("a failed call returns an RMR")
		}
		t.notShown("the device has no memory windows, so there is no RMR to bind: CreateRMR says so", "a device with memory windows")
		return
	}
	a, b := t.pair()
	rmr, err := udat.CreateRMR(a.PZ)
	t.must(err)
	t.cleanup(rmr)
	triplet, err := rmr.Bind(a.Segment(t, 0, message), udat.MemPrivRemoteWrite, a.EP, 5, 0)
	t.must(err)
	if event := udattest.Expect(t, a.Request, udat.EventRMRBindCompletion); event.RMR() != rmr || event.Cookie != 5 {
		t.Errorf("the bind completes as %+v", event)
	}
	udattest.NoEvent(t, a.Recv)
	udattest.NoEvent(t, a.Connect)
	t.must(b.PostRDMAWrite([]udat.Segment{b.Segment(t, 0, message)}, 6, triplet, 0))
	udattest.Completion(t, b.Request, 6)
}

func connectionEvents(t *trial) {
	a, b := t.endpoint(), t.endpoint()
	t.accepted(t.ask(udattest.Listen(t, t.ia), a), b.EP, a, b)
	t.must(a.Disconnect(udat.CloseAbrupt))
	for _, e := range []*udattest.Endpoint{a, b} {
		if event := udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected); event.EP() != e.EP {
			t.Error("the event names another endpoint")
		}
		udattest.NoEvent(t, e.Recv)
		udattest.NoEvent(t, e.Request)
	}
	// A failure is reported there, too.
	t.must(a.Reset())
	t.must(a.EP.Connect(t.address(), udattest.ConnQual(), udattest.Patience, nil)) // where nobody listens
	if event := udattest.Wait(t, a.Connect); event.Err() == nil || event.EP() != a.EP {
		t.Errorf("a connection to nobody returned %v", event.Number)
	}
}

func beginsByConnect(t *trial) {
	a, b := t.pair()
	t.wantState(a, udat.EPStateConnected)
	t.exchange(a, b)
	t.exchange(b, a)
}

func beginsByDupConnect(t *trial) {
	listener := udattest.Listen(t, t.ia)
	a, b := t.endpoint(), t.endpoint()
	udattest.ConnectPair(t, listener, a, b)
	c, d := t.endpoint(), t.endpoint()
	t.must(c.DupConnect(a.EP, udattest.Patience, nil))
	t.accepted(udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR(), d.EP, c, d)
	t.exchange(c, d)
	t.exchange(a, b)
}

func acceptsPending(t *trial) {
	listener := udattest.Listen(t, t.ia)
	a, b := t.endpoint(), t.endpoint()
	cr := t.ask(listener, a)
	param, err := cr.Query()
	t.must(err)
	if param.LocalEP != nil || param.PSP != listener.PSP {
		t.Errorf("the request says %+v", param)
	}
	t.accepted(cr, b.EP, a, b)
	t.exchange(b, a)
}

func acceptsReserved(t *trial) {
	e, client, rsp, cr := t.passive()
	param, err := cr.Query()
	t.must(err)
	if param.LocalEP != e.EP || param.RSP != rsp {
		t.Errorf("the request says %+v", param)
	}
	t.accepted(cr, nil, client, e)
	t.exchange(client, e)
	t.must(rsp.Free())
	t.exchange(e, client) // the connection outlives the service point
}

const (
	threshold   = udat.CompletionEVDThreshold
	solicited   = udat.CompletionSolicitedWait
	unsignalled = udat.CompletionUnsignalled
)

// flagged is an endpoint with completion flags, and the EVDs of its streams.
type flagged struct {
	name                    string
	recv, request           *udat.EVD
	recvFlags, requestFlags udat.CompletionFlags
	allowed                 bool
}

// tryFlags makes one endpoint after the other. Those that are made stay until the trial ends.
func (t *trial) tryFlags(endpoints ...flagged) {
	t.Helper()
	pz, _ := t.zone()
	for _, f := range endpoints {
		attr := udattest.DefaultAttr(t, t.ia)
		attr.RecvCompletionFlags, attr.RequestCompletionFlags = f.recvFlags, f.requestFlags
		ep, err := udat.CreateEP(t.ia, pz, f.recv, f.request, nil, &attr)
		if err == nil {
			t.cleanup(ep)
		}
		if f.allowed != (err == nil) || err != nil && !errors.Is(err, udat.ErrInvalidParameter) {
			t.Errorf("%s: allowed is %v, and the error is %v", f.name, f.allowed, err)
		}
	}
}

func sameFlags(t *trial) {
	recv, request, both := t.evd(256, udat.EVDDTO), t.evd(256, udat.EVDDTO), t.evd(256, udat.EVDDTO)
	t.tryFlags(
		flagged{"the first endpoint", recv, request, threshold, unsignalled, true},
		flagged{"one like the first", recv, request, threshold, unsignalled, true},
		flagged{"other flags of requests", recv, request, threshold, threshold, false},
		flagged{"other flags of receives", recv, request, solicited, unsignalled, false},
		flagged{"receives unsignalled", recv, request, unsignalled, unsignalled, false},
		flagged{"the EVDs exchanged", request, recv, threshold, unsignalled, false},
		flagged{"one EVD for different streams", both, both, threshold, unsignalled, false},
		flagged{"one EVD for equal streams", both, both, threshold, threshold, true},
	)
}

func mixedEVDTakesThreshold(t *trial) {
	for _, other := range []udat.EVDFlags{udat.EVDSoftware, udat.EVDCR} {
		mixed, plain := t.evd(256, udat.EVDDTO|other), t.evd(256, udat.EVDDTO)
		t.tryFlags(
			flagged{"receives unsignalled", mixed, plain, unsignalled, threshold, false},
			flagged{"receives solicited", mixed, plain, solicited, threshold, false},
			flagged{"requests unsignalled", plain, mixed, threshold, unsignalled, false},
			flagged{"both unsignalled", mixed, mixed, unsignalled, unsignalled, false},
			flagged{"both threshold", mixed, mixed, threshold, threshold, true},
		)
	}
	t.remark("with software events and connection requests, the only other streams that the providers let an EVD for completions have")
}

func unsignalledAlone(t *trial) {
	evd, other, recv := t.evd(256, udat.EVDDTO), t.evd(256, udat.EVDDTO), t.evd(256, udat.EVDDTO)
	t.tryFlags(
		flagged{"requests unsignalled", other, evd, threshold, unsignalled, true},
		flagged{"requests threshold beside them", other, evd, threshold, threshold, false},
		flagged{"receives threshold beside them", evd, other, threshold, threshold, false},
		flagged{"receives solicited beside them", evd, other, solicited, threshold, false},
		flagged{"both unsignalled beside them", evd, evd, unsignalled, unsignalled, true},
		flagged{"receives unsignalled", recv, other, unsignalled, threshold, true},
		flagged{"receives threshold beside those", recv, other, threshold, threshold, false},
		flagged{"requests threshold beside those", other, recv, threshold, threshold, false},
	)
}

func solicitedAlone(t *trial) {
	evd, other, both, mixed := t.evd(256, udat.EVDDTO), t.evd(256, udat.EVDDTO), t.evd(256, udat.EVDDTO), t.evd(256, udat.EVDDTO|udat.EVDSoftware)
	t.tryFlags(
		flagged{"receives solicited", evd, other, solicited, threshold, true},
		flagged{"the same again", evd, other, solicited, threshold, true},
		flagged{"receives threshold beside them", evd, other, threshold, threshold, false},
		flagged{"receives unsignalled beside them", evd, other, unsignalled, threshold, false},
		flagged{"requests threshold beside them", other, evd, threshold, threshold, false},
		flagged{"requests unsignalled beside them", other, evd, threshold, unsignalled, false},
		flagged{"one EVD with requests", both, both, solicited, threshold, false},
		flagged{"one EVD with requests solicited", both, both, solicited, solicited, false},
		flagged{"an EVD with software events", mixed, other, solicited, threshold, false},
	)
}

func createInvalidHandles(t *trial) {
	e, other := t.endpoint(), udattest.NewEndpoint(t, udattest.Open(t, t.ia.Name()), nil)
	closed, err := udat.Open(t.ia.Name())
	t.must(err)
	gone, err := udat.CreateEVD(closed, 16, nil, udat.EVDDTO)
	t.must(err)
	goneConnect, err := udat.CreateEVD(closed, 16, nil, udat.EVDConnection)
	t.must(err)
	gonePZ, err := udat.CreatePZ(closed)
	t.must(err)
	t.must(closed.Close(udat.CloseAbrupt))
	type parts struct {
		ia                     *udat.IA
		pz                     *udat.PZ
		recv, request, connect *udat.EVD
	}
	for name, c := range map[string]struct {
		change  func(*parts)
		subtype udat.ReturnSubtype
	}{
		"nil adapter":                   {func(p *parts) { p.ia = nil }, udat.InvalidHandleIA},
		"zero adapter":                  {func(p *parts) { p.ia = &udat.IA{} }, udat.InvalidHandleIA},
		"closed adapter":                {func(p *parts) { p.ia = closed }, udat.InvalidHandleIA},
		"nil zone":                      {func(p *parts) { p.pz = nil }, udat.InvalidHandlePZ},
		"zero zone":                     {func(p *parts) { p.pz = &udat.PZ{} }, udat.InvalidHandlePZ},
		"freed zone":                    {func(p *parts) { p.pz = gonePZ }, udat.InvalidHandlePZ},
		"foreign zone":                  {func(p *parts) { p.pz = other.PZ }, udat.InvalidHandlePZ},
		"zero receive EVD":              {func(p *parts) { p.recv = &udat.EVD{} }, udat.InvalidHandleEVDRecv},
		"freed receive EVD":             {func(p *parts) { p.recv = gone }, udat.InvalidHandleEVDRecv},
		"foreign receive EVD":           {func(p *parts) { p.recv = other.Recv }, udat.InvalidHandleEVDRecv},
		"receive EVD for connections":   {func(p *parts) { p.recv = e.Connect }, udat.InvalidHandleEVDRecv},
		"zero request EVD":              {func(p *parts) { p.request = &udat.EVD{} }, udat.InvalidHandleEVDRequest},
		"freed request EVD":             {func(p *parts) { p.request = gone }, udat.InvalidHandleEVDRequest},
		"foreign request EVD":           {func(p *parts) { p.request = other.Request }, udat.InvalidHandleEVDRequest},
		"request EVD for connections":   {func(p *parts) { p.request = e.Connect }, udat.InvalidHandleEVDRequest},
		"zero connect EVD":              {func(p *parts) { p.connect = &udat.EVD{} }, udat.InvalidHandleEVDConn},
		"freed connect EVD":             {func(p *parts) { p.connect = goneConnect }, udat.InvalidHandleEVDConn},
		"foreign connect EVD":           {func(p *parts) { p.connect = other.Connect }, udat.InvalidHandleEVDConn},
		"connect EVD for completions":   {func(p *parts) { p.connect = e.Recv }, udat.InvalidHandleEVDConn},
		"connect EVD of errors":         {func(p *parts) { p.connect = t.ia.AsyncEVD() }, udat.InvalidHandleEVDConn},
		"receive EVD of errors instead": {func(p *parts) { p.recv = t.ia.AsyncEVD() }, udat.InvalidHandleEVDRecv},
	} {
		p := parts{t.ia, e.PZ, e.Recv, e.Request, e.Connect}
		c.change(&p)
		ep, err := udat.CreateEP(p.ia, p.pz, p.recv, p.request, p.connect, nil)
		if ep != nil {
			t.Errorf("%s: the call returns an endpoint", name)
			t.must(ep.Free())
		}
		if !errors.Is(err, udat.ErrInvalidHandle) || !errors.Is(err, c.subtype) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func createInvalidAttributes(t *trial) {
	e := t.endpoint()
	recv, request := t.evd(64, udat.EVDDTO), t.evd(64, udat.EVDDTO) // of nobody who has other completion flags
	most, good := t.limits(), t.query(e).Attr
	for name, change := range map[string]func(*udat.EPAttr){
		"negative receives":     func(a *udat.EPAttr) { a.MaxRecvDTOs = -1 },
		"receives":              func(a *udat.EPAttr) { a.MaxRecvDTOs = most.MaxDTOPerEP + 1 },
		"negative requests":     func(a *udat.EPAttr) { a.MaxRequestDTOs = -1 },
		"requests":              func(a *udat.EPAttr) { a.MaxRequestDTOs = most.MaxDTOPerEP + 1 },
		"receive segments":      func(a *udat.EPAttr) { a.MaxRecvIOV = most.MaxIOVSegmentsPerDTO + 1 },
		"request segments":      func(a *udat.EPAttr) { a.MaxRequestIOV = most.MaxIOVSegmentsPerDTO + 1 },
		"negative reads in":     func(a *udat.EPAttr) { a.MaxRDMAReadIn = -1 },
		"reads in":              func(a *udat.EPAttr) { a.MaxRDMAReadIn = most.MaxRDMAReadPerEPIn + 1 },
		"negative reads out":    func(a *udat.EPAttr) { a.MaxRDMAReadOut = -1 },
		"reads out":             func(a *udat.EPAttr) { a.MaxRDMAReadOut = most.MaxRDMAReadPerEPOut + 1 },
		"read segments":         func(a *udat.EPAttr) { a.MaxRDMAReadIOV = most.MaxIOVSegmentsPerRead + 1 },
		"write segments":        func(a *udat.EPAttr) { a.MaxRDMAWriteIOV = most.MaxIOVSegmentsPerWrite + 1 },
		"suppressed receives":   func(a *udat.EPAttr) { a.RecvCompletionFlags = udat.CompletionSuppress },
		"fenced receives":       func(a *udat.EPAttr) { a.RecvCompletionFlags = udat.CompletionBarrierFence },
		"flags together":        func(a *udat.EPAttr) { a.RecvCompletionFlags = solicited | threshold },
		"suppressed requests":   func(a *udat.EPAttr) { a.RequestCompletionFlags = udat.CompletionSuppress },
		"solicited requests":    func(a *udat.EPAttr) { a.RequestCompletionFlags = solicited },
		"unknown receive flags": func(a *udat.EPAttr) { a.RecvCompletionFlags = 1 << 20 },
		"message size":          func(a *udat.EPAttr) { a.MaxMessageSize = most.MaxMessageSize + 1 },
		"RDMA size":             func(a *udat.EPAttr) { a.MaxRDMASize = most.MaxRDMASize + 1 },
	} {
		attr := good
		if change(&attr); attr.MaxMessageSize == 0 || attr.MaxRDMASize == 0 {
			continue // any size is possible
		}
		ep, err := udat.CreateEP(t.ia, e.PZ, recv, request, e.Connect, &attr)
		if ep != nil || !errors.Is(err, udat.ErrInvalidParameter) {
			t.Errorf("wrong %s: the call returns %v, %v", name, ep, err)
		}
	}
	for name, evds := range map[string][2]*udat.EVD{"receives": {nil, e.Request}, "requests": {e.Recv, nil}} {
		if _, err := udat.CreateEP(t.ia, e.PZ, evds[0], evds[1], e.Connect, &good); !errors.Is(err, udat.ErrInvalidParameter) {
			t.Errorf("%s without an EVD for their completions: the error is %v", name, err)
		}
	}
}

func createWithoutRoom(t *trial) {
	e := t.endpoint()
	create := func() (*udat.EP, error) { return udat.CreateEP(t.ia, e.PZ, e.Recv, e.Request, e.Connect, nil) }
	lift, ok := t.limitObjects()
	if !ok {
		t.notShown("the resources of the device are too many to be used up", "a control group that limits its objects, as in the test bed")
		return
	}
	before := len(udat.Living())
	for range 3 {
		_, err := create()
		t.refused(err, udat.ErrInsufficientResources)
	}
	if n := len(udat.Living()); n != before {
		t.Errorf("the calls have left %d objects", n-before)
	}
	lift()
	ep, err := create()
	t.must(err)
	t.must(ep.Free())
	t.remark("the resource is the number of the device's objects, as a control group limits it")
}

func createConcurrently(t *trial) {
	e := t.endpoint()
	attr := t.query(e).Attr
	attr.MaxRecvDTOs, attr.MaxRequestDTOs = 2, 2
	const creators, rounds = 12, 8
	start := make(chan struct{})
	wait := t.atOnce(creators, func(int) error {
		<-start
		for range rounds {
			ep, err := udat.CreateEP(t.ia, e.PZ, e.Recv, e.Request, e.Connect, &attr)
			if err != nil {
				return err
			}
			s, err := ep.GetStatus()
			if err == nil && s.State != udat.EPStateUnconnected {
				err = errors.New("a new endpoint is in the state " + s.State.String())
			}
			if err := errors.Join(err, ep.Free()); err != nil {
				return err
			}
		}
		return nil
	})
	close(start)
	wait()
	t.must(e.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: attr})) // the EVDs are in order
}

// limitObjects limits the process to the objects of the device that it has. It returns false if that is not possible. The
// limit ends when lift is called, or the trial ends.
func (t *trial) limitObjects() (lift func(), ok bool) {
	t.Helper()
	if !udattest.InTestbed(t) {
		return nil, false
	}
	device := t.limits().AdapterName
	group, err := process.EnterGroup()
	if err != nil {
		t.Logf("there is no control group for objects of RDMA devices: %v", err)
		return nil, false
	}
	t.Cleanup(func() {
		t.must(group.Lift(device))
		t.must(group.Leave())
	})
	t.must(group.Limit(device, 0))
	return func() { t.must(group.Lift(device)) }, true
}
