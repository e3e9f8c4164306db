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
	rsp, r := cgo.RSPCreate(a.IAHandle, l.qual, e.EPHandle, l.requests.EVDHandle)
	success(t, "RSPCreate", r)
	return rsp, l
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
