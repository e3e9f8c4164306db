package conformance

import (
	"errors"
	"slices"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// subtypes names the states in errors.
var subtypes = map[udat.EPState]udat.ReturnSubtype{
	udat.EPStateUnconnected:              udat.InvalidStateEPUnconnected,
	udat.EPStateReserved:                 udat.InvalidStateEPReserved,
	udat.EPStatePassiveConnectionPending: udat.InvalidStateEPPassConnPending,
	udat.EPStateActiveConnectionPending:  udat.InvalidStateEPActConnPending,
	udat.EPStateCompletionPending:        udat.InvalidStateEPComplPending,
	udat.EPStateConnected:                udat.InvalidStateEPConnected,
	udat.EPStateDisconnectPending:        udat.InvalidStateEPDiscPending,
	udat.EPStateDisconnected:             udat.InvalidStateEPDisconnected,
}

// The calls that the pages of the clauses are not about are refused in all states but theirs, with an error that names
// the state, and leave it. Receives can be posted in every state, and come back when the connection has ended.
func TestCallsInEachState(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(test *testing.T) {
			t := &trial{T: test}
			udattest.CheckLeaks(t)
			t.ia = udattest.Open(t, name)
			t.iwarp = udattest.IWARP(t, t.ia)
			t.callsInEachState()
		})
	}
}

// extensions are the operations that not every device has, by the names of the calls.
var extensions = map[string]udat.DTO{"immediate": udat.DTOIBRDMAWriteImmed, "fetch": udat.DTOIBFetchAdd, "swap": udat.DTOIBCmpSwap}

// lacks reports whether a call is for an operation that the device does not have.
func (t *trial) lacks(call string) bool {
	_, provider, err := t.ia.Query()
	t.must(err)
	op, extension := extensions[call]
	return extension && !provider.Supports(op)
}

func (t *trial) callsInEachState() {
	listener, requests, origin, client := udattest.Listen(t, t.ia), t.evd(8, udat.EVDCR), t.endpoint(), t.endpoint()
	udattest.ConnectPair(t, listener, origin, t.endpoint())
	t.must(client.EP.Connect(t.address(), listener.ConnQual, udattest.Patience, nil))
	cr := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR()
	remote := t.remote(origin)

	post := func(e *udattest.Endpoint) (segment udat.Segment) { return e.Segment(t, 0, 8) }
	connected, unconnected := []udat.EPState{udat.EPStateConnected, udat.EPStateDisconnected}, []udat.EPState{udat.EPStateUnconnected}
	calls := map[string]struct {
		make    func(e *udattest.Endpoint) error
		allowed []udat.EPState
	}{
		"connect": {func(e *udattest.Endpoint) error {
			return e.EP.Connect(t.address(), listener.ConnQual, udattest.Patience, nil)
		}, unconnected},
		"dup_connect": {func(e *udattest.Endpoint) error { return e.DupConnect(origin.EP, udattest.Patience, nil) }, unconnected},
		"dup source":  {func(e *udattest.Endpoint) error { return t.endpoint().DupConnect(e.EP, udattest.Patience, nil) }, connected[:1]},
		"cr_accept":   {func(e *udattest.Endpoint) error { return cr.Accept(e.EP, nil) }, unconnected},
		"rsp_create": {func(e *udattest.Endpoint) error {
			_, err := udat.CreateRSP(t.ia, udattest.ConnQual(), e.EP, requests)
			return err
		}, unconnected},
		"reset":     {func(e *udattest.Endpoint) error { return e.Reset() }, []udat.EPState{udat.EPStateUnconnected, udat.EPStateDisconnected}},
		"send":      {func(e *udattest.Endpoint) error { return e.PostSend(one(post(e)), 1, 0) }, connected},
		"read":      {func(e *udattest.Endpoint) error { return e.PostRDMARead(one(post(e)), 1, remote, 0) }, connected},
		"write":     {func(e *udattest.Endpoint) error { return e.PostRDMAWrite(one(post(e)), 1, remote, 0) }, connected},
		"immediate": {func(e *udattest.Endpoint) error { return e.PostRDMAWriteImmed(one(post(e)), 1, remote, 1, 0) }, connected},
		"fetch":     {func(e *udattest.Endpoint) error { return e.PostFetchAndAdd(1, post(e), 1, remote, 0) }, connected},
		"swap":      {func(e *udattest.Endpoint) error { return e.PostCmpAndSwap(1, 2, post(e), 1, remote, 0) }, connected},
	}
	posted := map[*udattest.Endpoint][]uint64{}
	var last *udattest.Endpoint
	t.walkAll(func(e *udattest.Endpoint, state udat.EPState) {
		for name, c := range calls {
			if slices.Contains(c.allowed, state) {
				continue // the clauses make these calls
			}
			if err := c.make(e); !errors.Is(err, udat.ErrInvalidState) || !errors.Is(err, subtypes[state]) {
				if !(t.lacks(name) && errors.Is(err, errors.ErrUnsupported)) {
					t.Errorf("%s in %v: the error is %v", name, state, err)
				}
			}
			t.wantState(e, state)
		}
		cookie := uint64(100 + len(posted[e]))
		if state != udat.EPStateActiveConnectionPending { // with a receive at the peer, the walk's send would complete
			t.postRecv(e, cookie)
			posted[e], last = append(posted[e], cookie), e
		}
	})
	t.must(last.Reset())
	t.flushed(last.Recv, posted[last]...)
	udattest.NoEvent(t, last.Recv)
	t.must(cr.Reject(nil)) // which none of the calls has answered
	udattest.Expect(t, client.Connect, udat.EventConnectionPeerRejected)
}
