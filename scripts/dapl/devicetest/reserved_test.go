package devicetest

import (
	"net"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// reserve makes a service point that reserves an endpoint for a request. The caller frees it.
func (a *adapter) reserve(t *testing.T, e *endpoint) (cgo.RSPHandle, *listener) {
	t.Helper()
	l := &listener{qual: uint64(udattest.ConnQual()), requests: a.newQueue(t, cgo.EVDCR)}
	return a.reserveAt(t, l, e), l
}

func (a *adapter) reserveAt(t *testing.T, l *listener, e *endpoint) cgo.RSPHandle {
	t.Helper()
	rsp, r := cgo.RSPCreate(a.IAHandle, l.qual, e.EPHandle, l.requests.EVDHandle)
	success(t, "RSPCreate", r)
	e.wantState(t, cgo.EPStateReserved)
	return rsp
}

// establish connects an endpoint to a reserved one, and checks that the request names that.
func (a *adapter) establish(t *testing.T, l *listener, active, reserved *endpoint) {
	t.Helper()
	a.startConnect(t, l, active, cgo.TimeoutInfinite)
	request := l.request(t)
	reserved.wantState(t, cgo.EPStatePassiveConnectionPending)
	var param cgo.CRParam
	success(t, "CRQuery", cgo.CRQuery(request, cgo.CRFieldAll, &param))
	if param.LocalEPHandle != reserved.EPHandle {
		t.Errorf("the request names the endpoint %#x, want %#x", param.LocalEPHandle, reserved.EPHandle)
	}
	success(t, "CRAccept", cgo.CRAccept(request, 0, nil))
	active.connect.expect(t, cgo.EventConnectionEstablished)
	reserved.connect.expect(t, cgo.EventConnectionEstablished)
}

// A qualifier is reserved once. Who asks for it again gets its endpoint back.
func TestRSPInUse(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, reserved, other := a.newEndpoint(t), a.newEndpoint(t), a.newEndpoint(t)
		rsp, l := a.reserve(t, reserved)
		_, r := cgo.RSPCreate(a.IAHandle, l.qual, other.EPHandle, l.requests.EVDHandle)
		outcome(t, "RSPCreate again", r, cgo.ConnQualInUse, cgo.NoSubtype)
		other.wantState(t, cgo.EPStateUnconnected)
		reserved.wantState(t, cgo.EPStateReserved)
		_, r = cgo.RSPCreate(a.IAHandle, l.qual+1, reserved.EPHandle, l.requests.EVDHandle)
		outcome(t, "RSPCreate for a reserved endpoint", r, cgo.InvalidState, cgo.InvalidStateEPReserved)
		_, r = cgo.PSPCreate(a.IAHandle, l.qual, l.requests.EVDHandle, cgo.PSPConsumer)
		outcome(t, "PSPCreate", r, cgo.ConnQualInUse, cgo.NoSubtype)
		outcome(t, "EPFree", cgo.EPFree(reserved.EPHandle), cgo.InvalidState, cgo.InvalidStateEPReserved)
		a.establish(t, l, active, reserved)
		success(t, "RSPFree", cgo.RSPFree(rsp))
		disconnect(t, active, reserved)
	})
}

// A qualifier is reserved again as soon as its service point is freed, whatever has become of the request: there was
// none, it is not answered yet, was rejected, or has led to a connection.
func TestRSPAgain(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		var e [3]*endpoint
		var active [3]*endpoint
		for i := range e {
			e[i], active[i] = a.newEndpoint(t), a.newEndpoint(t)
		}
		rsp, l := a.reserve(t, e[0])
		success(t, "RSPFree", cgo.RSPFree(rsp))
		e[0].wantState(t, cgo.EPStateUnconnected)

		rsp = a.reserveAt(t, l, e[0])
		a.establish(t, l, active[0], e[0])
		success(t, "RSPFree", cgo.RSPFree(rsp))
		psp, r := cgo.PSPCreate(a.IAHandle, l.qual, l.requests.EVDHandle, cgo.PSPConsumer)
		success(t, "PSPCreate", r)
		success(t, "PSPFree", cgo.PSPFree(psp))

		rsp = a.reserveAt(t, l, e[1])
		a.startConnect(t, l, active[1], cgo.TimeoutInfinite)
		unanswered := l.request(t)
		success(t, "RSPFree", cgo.RSPFree(rsp))
		e[1].wantState(t, cgo.EPStatePassiveConnectionPending)

		rsp = a.reserveAt(t, l, e[2])
		a.startConnect(t, l, active[2], cgo.TimeoutInfinite)
		success(t, "CRReject", cgo.CRReject(l.request(t), nil))
		e[2].wantState(t, cgo.EPStateUnconnected)
		active[2].connect.expect(t, cgo.EventConnectionPeerRejected)
		success(t, "EPReset", cgo.EPReset(active[2].EPHandle))
		success(t, "RSPFree", cgo.RSPFree(rsp))

		success(t, "CRReject", cgo.CRReject(unanswered, nil))
		e[1].wantState(t, cgo.EPStateUnconnected)
		active[1].connect.expect(t, cgo.EventConnectionPeerRejected)
		success(t, "EPReset", cgo.EPReset(active[1].EPHandle))

		disconnect(t, active[0], e[0])
		for i := range e[1:] {
			rsp = a.reserveAt(t, l, e[1+i])
			a.establish(t, l, active[1+i], e[1+i])
			disconnect(t, active[1+i], e[1+i])
			success(t, "RSPFree", cgo.RSPFree(rsp))
		}
	})
}

// A service point takes one request. One for which its queue has no room does not count.
func TestRSPTakesOne(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		reserved, first, second := a.newEndpoint(t), a.newEndpoint(t), a.newEndpoint(t)
		l := &listener{qual: uint64(udattest.ConnQual()), requests: a.newQueue(t, cgo.EVDCR|cgo.EVDSoftware)}
		rsp := a.reserveAt(t, l, reserved)
		for i := range uint64(l.requests.length(t)) {
			success(t, "EVDPostSE", cgo.EVDPostSE(l.requests.EVDHandle, cgo.EventSoftware, i))
		}
		a.startConnect(t, l, first, cgo.TimeoutInfinite)
		first.connect.expect(t, cgo.EventConnectionNonPeerRejected)
		reserved.wantState(t, cgo.EPStateReserved)
		l.requests.drain(t)
		success(t, "EPReset", cgo.EPReset(first.EPHandle))

		a.startConnect(t, l, first, cgo.TimeoutInfinite)
		request := l.request(t)
		a.startConnect(t, l, second, cgo.TimeoutInfinite)
		second.connect.expect(t, cgo.EventConnectionNonPeerRejected)
		l.requests.empty(t)
		success(t, "CRAccept", cgo.CRAccept(request, 0, nil))
		first.connect.expect(t, cgo.EventConnectionEstablished)
		reserved.connect.expect(t, cgo.EventConnectionEstablished)
		disconnect(t, first, reserved)
		success(t, "RSPFree", cgo.RSPFree(rsp))
	})
}

// The endpoint of a request that was rejected is freed, and another gets its address, before the service point is freed.
func TestRSPFreeAfterEndpoint(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, r := a.newEndpoint(t), a.newRacer(t, 1)
		first := &endpoint{EPHandle: r.newEndpoint(t)}
		rsp, l := a.reserve(t, first)
		a.startConnect(t, l, active, cgo.TimeoutInfinite)
		success(t, "CRReject", cgo.CRReject(l.request(t), nil))
		active.connect.expect(t, cgo.EventConnectionPeerRejected)
		success(t, "EPFree", cgo.EPFree(first.EPHandle))
		var made []*endpoint
		for range 64 { // the first, usually
			made = append(made, &endpoint{EPHandle: r.newEndpoint(t)})
			if made[len(made)-1].EPHandle == first.EPHandle {
				break
			}
		}
		last := made[len(made)-1]
		another, _ := a.reserve(t, last)
		success(t, "RSPFree", cgo.RSPFree(rsp))
		last.wantState(t, cgo.EPStateReserved)
		success(t, "RSPFree", cgo.RSPFree(another))
		for _, e := range made {
			success(t, "EPFree", cgo.EPFree(e.EPHandle))
		}
	})
}

// An adapter is closed abruptly, with a request of a reserved service point that is not answered, freed or not.
func TestCloseWithReserved(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		for _, freed := range []bool{false, true} {
			active := a.newEndpoint(t)
			ia, _, r := cgo.IAOpen(a.name, 8)
			success(t, "IAOpen", r)
			pz, r := cgo.PZCreate(ia)
			success(t, "PZCreate", r)
			var evds [3]cgo.EVDHandle
			for i, flags := range []cgo.EVDFlags{cgo.EVDDTO, cgo.EVDConnection, cgo.EVDCR} {
				evds[i], r = cgo.EVDCreate(ia, 8, 0, flags)
				success(t, "EVDCreate", r)
			}
			ep, r := cgo.EPCreate(ia, pz, evds[0], evds[0], evds[1], endpointAttr())
			success(t, "EPCreate", r)
			l := &listener{qual: uint64(udattest.ConnQual())}
			rsp, r := cgo.RSPCreate(ia, l.qual, ep, evds[2])
			success(t, "RSPCreate", r)
			a.startConnect(t, l, active, cgo.TimeoutInfinite)
			var event cgo.Event
			_, r = cgo.EVDWait(evds[2], uint32(udattest.Patience/time.Microsecond), 1, &event)
			success(t, "EVDWait", r)
			if freed {
				success(t, "RSPFree", cgo.RSPFree(rsp))
			}
			success(t, "IAClose", cgo.IAClose(ia, cgo.CloseAbrupt))
			active.connect.expect(t, cgo.EventConnectionPeerRejected)
		}
	})
}

// The service point of a request is freed, and then the request is accepted.
func TestAcceptAfterRSP(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, reserved := a.newEndpoint(t), a.newEndpoint(t)
		rsp, l := a.reserve(t, reserved)
		a.startConnect(t, l, active, cgo.TimeoutInfinite)
		request := l.request(t)
		success(t, "RSPFree", cgo.RSPFree(rsp))
		success(t, "CRAccept", cgo.CRAccept(request, 0, nil))
		active.connect.expect(t, cgo.EventConnectionEstablished)
		reserved.connect.expect(t, cgo.EventConnectionEstablished)
		disconnect(t, active, reserved)
		success(t, "EPReset", cgo.EPReset(reserved.EPHandle))
		a.connect(t, a.listen(t), a.newEndpoint(t), reserved, nil)
	})
}

// The peer of a reserved service point resets its TCP connection. The accept fails, and the request can be rejected.
func TestRejectAfterFailedAccept(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		message := a.captureRequest(t)
		reserved := a.newEndpoint(t)
		rsp, l := a.reserve(t, reserved)
		conn := dial(t, a.tcpAddress(l.qual))
		if _, err := conn.Write(message); err != nil {
			t.Fatal(err)
		}
		request := l.request(t)
		conn.SetLinger(0)
		conn.Close()
		if cgo.CRAccept(request, 0, nil).OK() {
			t.Fatal("an answer can be sent to a peer that has gone")
		}
		success(t, "CRReject", cgo.CRReject(request, nil))
		reserved.wantState(t, cgo.EPStateUnconnected)
		success(t, "RSPFree", cgo.RSPFree(rsp))
	})
}

// captureRequest returns the message with which an endpoint asks for a connection.
func (a *adapter) captureRequest(t *testing.T) []byte {
	t.Helper()
	qual := uint64(udattest.ConnQual())
	l, err := net.ListenTCP("tcp", a.tcpAddress(qual))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := a.newRacer(t, 1)
	ep := r.newEndpoint(t)
	defer r.end(t, ep)
	r.connectTo(t, &listener{qual: qual}, ep, "")
	l.SetDeadline(time.Now().Add(udattest.Patience))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(udattest.Patience))
	message := make([]byte, 1024)
	n, err := conn.Read(message)
	if err != nil {
		t.Fatal(err)
	}
	return message[:n]
}
