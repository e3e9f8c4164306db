package devicetest

import (
	"net"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// The service point of a request is freed, and then the request is accepted.
func TestAcceptAfterRSP(t *testing.T) {
	if !hasPatches(t) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		requests := a.newQueue(t, cgo.EVDCR)
		active, reserved := a.newEndpoint(t), a.newEndpoint(t)
		qual := uint64(udattest.ConnQual())
		rsp, r := cgo.RSPCreate(a.IAHandle, qual, reserved.EPHandle, requests.EVDHandle)
		success(t, "RSPCreate", r)
		l := &listener{qual: qual, requests: requests}
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
		requests, reserved := a.newQueue(t, cgo.EVDCR), a.newEndpoint(t)
		qual := uint64(udattest.ConnQual())
		rsp, r := cgo.RSPCreate(a.IAHandle, qual, reserved.EPHandle, requests.EVDHandle)
		success(t, "RSPCreate", r)
		conn := dial(t, a.tcpAddress(qual))
		if _, err := conn.Write(message); err != nil {
			t.Fatal(err)
		}
		request := (&listener{requests: requests}).request(t)
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
