package conformance

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

const noTentative = "TENTATIVE_CONNECTION_PENDING is left out: no provider accepts a request on an endpoint that it has made itself"

// noCompleting is a remark about iWARP.
const noCompleting = "COMPLETION_PENDING is left out: on iWARP the side that accepts is connected at once"

// noPending is the remark of trials whose requests are too short for the state.
const noPending = "DISCONNECT_PENDING is left out: over iWARP only long RDMA reads keep an endpoint in it, which the trial does not allow"

// walk takes an endpoint through the states of its life, and calls visit in each: with its peer in
// ACTIVE_CONNECTION_PENDING, with the endpoint itself in all others. visit may modify the endpoint, and must leave it
// in its state. walk leaves out COMPLETION_PENDING: see completing.
func (t *trial) walk(visit func(e *udattest.Endpoint, state udat.EPState)) {
	t.Helper()
	peer := t.endpoint()
	call := func(e *udattest.Endpoint, state udat.EPState) {
		t.Helper()
		t.wantState(e, state)
		visit(e, state)
		t.wantState(e, state)
		param := t.query(e)
		e.Recv, e.Request, e.Connect = param.RecvEVD, param.RequestEVD, param.ConnectEVD
	}
	e, _, requests, qual := t.reserved(func(e *udattest.Endpoint) { call(e, udat.EPStateUnconnected) })
	call(e, udat.EPStateReserved)
	t.must(peer.EP.Connect(t.address(), qual, udattest.Patience, nil))
	cr := udattest.Expect(t, requests, udat.EventConnectionRequest).CR()
	call(e, udat.EPStatePassiveConnectionPending)
	call(peer, udat.EPStateActiveConnectionPending)
	t.accepted(cr, nil, peer, e)
	call(e, udat.EPStateConnected)
	if t.sticks(e) {
		t.stick(e, peer, 9001)
		t.must(e.Disconnect(udat.CloseGraceful))
		call(e, udat.EPStateDisconnectPending)
	} else {
		t.remark(noPending)
	}
	t.must(e.Disconnect(udat.CloseAbrupt))
	udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
	call(e, udat.EPStateDisconnected)
}

// walkAll is walk with COMPLETION_PENDING.
func (t *trial) walkAll(visit func(e *udattest.Endpoint, state udat.EPState)) {
	t.Helper()
	t.remarkOnIWARP(noCompleting)
	if !t.iwarp {
		e := t.completing(1)[0]
		visit(e, udat.EPStateCompletionPending)
		t.wantState(e, udat.EPStateCompletionPending)
	}
	t.walk(visit)
}

// reserved makes an endpoint with a reserved service point. It calls prepare first, if not nil.
func (t *trial) reserved(prepare func(e *udattest.Endpoint)) (e *udattest.Endpoint, rsp *udat.RSP, requests *udat.EVD, qual udat.ConnQual) {
	t.Helper()
	requests, e, qual = t.evd(8, udat.EVDCR), t.endpoint(), udattest.ConnQual()
	if prepare != nil {
		prepare(e)
	}
	rsp, err := udat.CreateRSP(t.ia, qual, e.EP, requests)
	t.must(err)
	t.cleanup(rsp)
	t.wantState(e, udat.EPStateReserved)
	return e, rsp, requests, qual
}

// passive makes an endpoint in PASSIVE_CONNECTION_PENDING.
func (t *trial) passive() (e, client *udattest.Endpoint, rsp *udat.RSP, cr *udat.CR) {
	t.Helper()
	client = t.endpoint()
	e, rsp, requests, qual := t.reserved(nil)
	t.must(client.EP.Connect(t.address(), qual, udattest.Patience, nil))
	cr = udattest.Expect(t, requests, udat.EventConnectionRequest).CR()
	t.wantState(e, udat.EPStatePassiveConnectionPending)
	return e, client, rsp, cr
}

// connecting makes an endpoint in ACTIVE_CONNECTION_PENDING, with the request that waits for an answer. It calls
// prepare first, if not nil.
func (t *trial) connecting(prepare func(e *udattest.Endpoint)) (*udattest.Endpoint, *udat.CR) {
	t.Helper()
	listener, e := udattest.Listen(t, t.ia), t.endpoint()
	if prepare != nil {
		prepare(e)
	}
	cr := t.ask(listener, e)
	t.Cleanup(func() { _ = cr.Reject(nil) }) // on iWARP the endpoint's Free would wait for an answer
	t.wantState(e, udat.EPStateActiveConnectionPending)
	return e, cr
}

// disconnecting makes an endpoint that a request keeps in DISCONNECT_PENDING.
func (t *trial) disconnecting() (e, peer *udattest.Endpoint) {
	t.Helper()
	e, peer = t.pair()
	t.stick(e, peer, 9001)
	t.must(e.Disconnect(udat.CloseGraceful))
	t.wantState(e, udat.EPStateDisconnectPending)
	return e, peer
}

// completing makes endpoints in COMPLETION_PENDING: each has accepted the request of another process, which is stopped
// before it can continue.
func (t *trial) completing(n int) []*udattest.Endpoint {
	t.Helper()
	listener := udattest.Listen(t, t.ia)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", peerVariable, t.ia.Name(), listener.ConnQual, n))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe() // the process ends when it is closed
	t.must(err)
	t.must(cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	var requests []*udat.CR
	for range n {
		requests = append(requests, udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR())
	}
	t.must(cmd.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err = syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	t.must(err)
	if !status.Stopped() {
		t.Fatalf("the process has ended: %v", status)
	}
	var endpoints []*udattest.Endpoint
	for _, cr := range requests {
		e := t.endpoint()
		t.must(cr.Accept(e.EP, nil))
		t.wantState(e, udat.EPStateCompletionPending)
		endpoints = append(endpoints, e)
	}
	return endpoints
}

// peerVariable makes this test program the peer of an endpoint. It has the adapter, the qualifier to connect to on the same
// adapter, and the number of endpoints.
const peerVariable = "UDAT_CONFORMANCE_PEER"

// runPeer is that process. Nothing frees its objects but its end.
func runPeer(text string) {
	var name string
	var qual udat.ConnQual
	var n int
	must(fmt.Sscan(text, &name, &qual, &n))
	ia := must(udat.Open(name))
	attr, _, err := ia.Query()
	must(0, err)
	pz := must(udat.CreatePZ(ia))
	evd := must(udat.CreateEVD(ia, 64, nil, udat.EVDDTO))
	connect := must(udat.CreateEVD(ia, 64, nil, udat.EVDConnection))
	for range n {
		must(0, must(udat.CreateEP(ia, pz, evd, evd, connect, nil)).Connect(attr.Address, qual, udat.TimeoutInfinite, nil))
	}
	must(io.Copy(io.Discard, os.Stdin))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
