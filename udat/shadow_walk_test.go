//go:build linux

package udat_test

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Each call of the table, in each state that an endpoint of a program can be in,
// does what the table says: it succeeds and leads there, or it is refused with
// that error and changes nothing.
func TestShadowTableHoldsOnDevice(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		reports := watch(t)
		w := newWalk(t, ia)
		for _, b := range builders {
			state := b.state
			if state == udat.EPStateCompletionPending && udattest.IWARP(t, ia) {
				continue // the side that accepts is connected at once
			}
			if state == udat.EPStateCompletionPending {
				w.stopped = stopPeer(t, ia, w.listener, len(udat.ProgramCalls()))
			}
			for _, call := range udat.ProgramCalls() {
				if call == udat.CallAccept && state == udat.EPStateDisconnectPending && udattest.IWARP(t, ia) {
					continue // no request comes over the network that keeps the endpoint in the state: see held
				}
				t.Run(state.String()+"/"+call.String(), func(t *testing.T) {
					s := w.newSubject(t)
					b.build(s, t)
					wantState(t, s.EP, state)
					s.try(t, call, state)
				})
			}
		}
		wantNoReport(t, reports)
	})
}

// walk has what all subjects on an adapter use.
type walk struct {
	ia       *udat.IA
	listener *udattest.Listener
	requests *udat.EVD     // of the reserved service points
	reserved udat.ConnQual // where they listen
	other    udat.ConnQual // where nobody listens
	origin   *udattest.Endpoint
	stopped  stoppedPeer
}

func newWalk(t *testing.T, ia *udat.IA) *walk {
	t.Helper()
	w := &walk{ia: ia, listener: udattest.Listen(t, ia), reserved: udattest.ConnQual(), other: udattest.ConnQual()}
	var err error
	w.requests, err = udat.CreateEVD(ia, 64, udat.EVDCR)
	want(t, err)
	t.Cleanup(func() { want(t, w.requests.Free()) })
	w.origin = udattest.NewEndpoint(t, ia, nil)
	udattest.ConnectPair(t, w.listener, w.origin, udattest.NewEndpoint(t, ia, nil))
	return w
}

// stoppedPeer has the requests of a process that has asked for connections and
// does not go on: those that are accepted stay COMPLETION_PENDING.
type stoppedPeer []*udat.CR

func stopPeer(t *testing.T, ia *udat.IA, listener *udattest.Listener, requests int) (peer stoppedPeer) {
	t.Helper()
	cmd := childTask{Connect: ia.Name(), Address: udattest.Address(t, ia), Qualifier: listener.ConnQual, Endpoints: requests}.command(t)
	stdin, err := cmd.StdinPipe()
	want(t, err)
	want(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	for range requests {
		peer = append(peer, udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR())
	}
	want(t, cmd.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err = syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	want(t, err)
	if !status.Stopped() {
		t.Fatalf("the peer has ended: %v", status)
	}
	return peer
}

// subject is the endpoint that a call is tried on.
type subject struct {
	*udattest.Endpoint
	*walk
	peer *udattest.Endpoint
	// rsp has reserved the endpoint at first; cr is the request that came for it.
	rsp *udat.RSP
	cr  *udat.CR
}

func (w *walk) newSubject(t *testing.T) *subject {
	t.Helper()
	s := &subject{Endpoint: udattest.NewEndpoint(t, w.ia, nil), walk: w, peer: udattest.NewEndpoint(t, w.ia, nil)}
	s.rsp = s.reserve(t, w.reserved)
	return s
}

func (s *subject) reserve(t *testing.T, qual udat.ConnQual) *udat.RSP {
	t.Helper()
	rsp, err := udat.CreateRSP(s.ia, qual, s.EP, s.requests)
	want(t, err)
	t.Cleanup(func() { _ = rsp.Free() })
	return rsp
}

// builders bring a subject into each state. No provider has a way into
// TENTATIVE_CONNECTION_PENDING. Attempts that are broken off come last: they can
// delay the CMA provider's next connection.
var builders = []struct {
	state udat.EPState
	build func(*subject, *testing.T)
}{
	{udat.EPStateReserved, func(*subject, *testing.T) {}},
	{udat.EPStatePassiveConnectionPending, (*subject).requested},
	{udat.EPStateUnconnected, (*subject).unconnected},
	{udat.EPStateConnected, (*subject).connected},
	{udat.EPStateDisconnectPending, (*subject).disconnecting},
	{udat.EPStateDisconnected, (*subject).disconnected},
	{udat.EPStateActiveConnectionPending, (*subject).connecting},
	{udat.EPStateCompletionPending, (*subject).accepting},
}

func (s *subject) requested(t *testing.T) {
	want(t, s.peer.EP.Connect(udattest.Address(t, s.ia), s.walk.reserved, udattest.Patience, nil))
	s.cr = udattest.Expect(t, s.requests, udat.EventConnectionRequest).CR()
}

// unconnected leaves a service point that holds the endpoint no more, and a
// request that is answered.
func (s *subject) unconnected(t *testing.T) {
	s.requested(t)
	want(t, s.cr.Reject(nil))
	udattest.Expect(t, s.peer.Connect, udat.EventConnectionPeerRejected)
	want(t, s.peer.Reset())
}

func (s *subject) connecting(t *testing.T) {
	s.unconnected(t)
	want(t, s.leaveRequest(t, s.EP.Connect(udattest.Address(t, s.ia), s.listener.ConnQual, udattest.Patience, nil)))
}

// leaveRequest takes the request of a connect that was not refused, and does not
// answer it before the test has ended.
func (s *subject) leaveRequest(t *testing.T, err error) error {
	if err == nil {
		cr := udattest.Expect(t, s.listener.Requests, udat.EventConnectionRequest).CR()
		t.Cleanup(func() {
			_ = cr.Reject(nil)
			// Native endpoints that are freed in the middle of this leave things behind.
			if now, err := s.GetStatus(); err == nil && now.State == udat.EPStateActiveConnectionPending {
				udattest.Wait(t, s.Connect)
			}
		})
	}
	return err
}

// leaveConnection has the connection that an accept began established before
// both sides are freed.
func (s *subject) leaveConnection(t *testing.T, client *udattest.Endpoint, err error) error {
	if err == nil {
		t.Cleanup(func() {
			udattest.Expect(t, client.Connect, udat.EventConnectionEstablished)
			udattest.Expect(t, s.Connect, udat.EventConnectionEstablished)
		})
	}
	return err
}

func (s *subject) accepting(t *testing.T) {
	s.unconnected(t)
	cr := s.stopped[0]
	s.stopped = s.stopped[1:]
	want(t, cr.Accept(s.EP, nil))
}

func (s *subject) connected(t *testing.T) {
	s.unconnected(t)
	udattest.ConnectPair(t, s.listener, s.Endpoint, s.peer)
}

// disconnecting leaves a request that does not complete.
func (s *subject) disconnecting(t *testing.T) {
	s.connected(t)
	hold(t, s.Endpoint, s.peer, 1)
	want(t, s.Disconnect(udat.CloseGraceful))
}

func (s *subject) disconnected(t *testing.T) {
	s.connected(t)
	want(t, s.Disconnect(udat.CloseAbrupt))
	udattest.Expect(t, s.Connect, udat.EventConnectionDisconnected)
}

// try makes a call and compares its result with the table.
func (s *subject) try(t *testing.T, call udat.EPCall, from udat.EPState) {
	t.Helper()
	err := s.call(t, call)
	to, allowed := udat.Succeeds(call, from)
	refusal, refused := udat.Refusal(call, from)
	switch {
	case err == nil && !allowed:
		t.Errorf("%v succeeds in %v, the table refuses it with %v", call, from, refusal)
	case err == nil && to == nil:
		_, err := s.GetStatus()
		want(t, err, udat.ErrClosed)
	case err == nil:
		if state := status(t, s.EP).State; !slices.Contains(to, state) {
			t.Errorf("%v leads from %v to %v, the table has %v", call, from, state, to)
		}
	case errors.Is(err, udat.ErrNotImplemented) && udattest.IWARP(t, s.ia): // by any device that speaks it
	case !refused:
		t.Errorf("%v is refused in %v: %v", call, from, err)
	default:
		want(t, err, refusal)
		if refusal == udat.ErrInvalidState {
			want(t, err, udat.StateSubtype(from))
		}
		wantState(t, s.EP, from)
	}
}

// call makes a call whose arguments give no reason to refuse it.
func (s *subject) call(t *testing.T, call udat.EPCall) error {
	t.Helper()
	address, segment := udattest.Address(t, s.ia), s.Segment(t, 0, 8)
	remote, err := s.peer.Memory.RMRTriplet(0, 8)
	want(t, err)
	switch name := call.String(); name {
	case "dat_ep_modify":
		return s.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 5}})
	case "dat_ep_modify of the protection zone":
		return s.Modify(udat.EPFieldPZHandle, &udat.EPParam{PZ: s.PZ})
	case "dat_ep_connect":
		return s.leaveRequest(t, s.EP.Connect(address, s.listener.ConnQual, udattest.Patience, nil))
	case "dat_ep_dup_connect":
		return s.leaveRequest(t, s.DupConnect(s.origin.EP, udattest.Patience, nil))
	case "dat_cr_accept":
		client := udattest.NewEndpoint(t, s.ia, nil)
		want(t, client.EP.Connect(address, s.listener.ConnQual, udattest.Patience, nil))
		cr := udattest.Expect(t, s.listener.Requests, udat.EventConnectionRequest).CR()
		t.Cleanup(func() { _ = cr.Reject(nil) })
		return s.leaveConnection(t, client, cr.Accept(s.EP, nil))
	case "dat_cr_accept of the request that the endpoint is reserved for":
		return s.leaveConnection(t, s.peer, s.cr.Accept(nil, nil))
	case "dat_cr_reject of the request that the endpoint is reserved for":
		return s.cr.Reject(nil)
	case "dat_rsp_create":
		rsp, err := udat.CreateRSP(s.ia, s.other, s.EP, s.requests)
		t.Cleanup(func() { _ = rsp.Free() })
		return err
	case "dat_rsp_free":
		return s.rsp.Free()
	case "dat_ep_disconnect, abrupt":
		return s.Disconnect(udat.CloseAbrupt)
	case "dat_ep_disconnect, graceful":
		return s.Disconnect(udat.CloseGraceful)
	case "dat_ep_reset":
		return s.Reset()
	case "dat_ep_free":
		return s.EP.Free()
	case "dat_ep_get_status":
		_, err := s.GetStatus()
		return err
	case "dat_ep_post_recv":
		return s.PostRecv(one(segment), 1, 0)
	case "dat_ep_post_send":
		return s.PostSend(one(segment), 1, 0)
	case "dat_ep_post_rdma_read":
		return s.PostRDMARead(one(segment), 1, remote, 0)
	case "dat_ep_post_rdma_write":
		return s.PostRDMAWrite(one(segment), 1, remote, 0)
	case "dat_ib_post_rdma_write_immed":
		return s.PostRDMAWriteImmed(one(segment), 1, remote, 1, 0)
	case "dat_ib_post_fetch_and_add":
		return s.PostFetchAndAdd(1, segment, 1, remote, 0)
	case "dat_ib_post_cmp_and_swap":
		return s.PostCmpAndSwap(1, 2, segment, 1, remote, 0)
	default:
		t.Fatalf("the test does not know how to make the call %s", name)
		return nil
	}
}
