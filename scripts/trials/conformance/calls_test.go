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
	forEach(t, (*trial).callsInEachState)
}

// requests are the calls that post requests.
func requests(s udat.Segment, remote udat.RMRTriplet) map[string]func(*udat.EP) error {
	return map[string]func(*udat.EP) error{
		"send":      func(ep *udat.EP) error { return ep.PostSend(one(s), 1, 0) },
		"read":      func(ep *udat.EP) error { return ep.PostRDMARead(one(s), 1, remote, 0) },
		"write":     func(ep *udat.EP) error { return ep.PostRDMAWrite(one(s), 1, remote, 0) },
		"immediate": func(ep *udat.EP) error { return ep.PostRDMAWriteImmed(one(s), 1, remote, 1, 0) },
		"fetch":     func(ep *udat.EP) error { return ep.PostFetchAndAdd(1, s, 1, remote, 0) },
		"swap":      func(ep *udat.EP) error { return ep.PostCmpAndSwap(1, 2, s, 1, remote, 0) },
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
	listener, queue, origin, client := udattest.Listen(t, t.ia), t.evd(8, udat.EVDCR), t.endpoint(), t.endpoint()
	udattest.ConnectPair(t, listener, origin, t.endpoint())
	cr, remote := t.ask(listener, client), t.remote(origin)
	connected, unconnected := []udat.EPState{udat.EPStateConnected, udat.EPStateDisconnected}, []udat.EPState{udat.EPStateUnconnected}
	type call struct {
		make    func(e *udattest.Endpoint) error
		allowed []udat.EPState
	}
	calls := map[string]call{
		"connect": {func(e *udattest.Endpoint) error {
			return e.EP.Connect(t.address(), listener.ConnQual, udattest.Patience, nil)
		}, unconnected},
		"dup_connect": {func(e *udattest.Endpoint) error { return e.DupConnect(origin.EP, udattest.Patience, nil) }, unconnected},
		"dup source":  {func(e *udattest.Endpoint) error { return t.endpoint().DupConnect(e.EP, udattest.Patience, nil) }, connected[:1]},
		"cr_accept":   {func(e *udattest.Endpoint) error { return cr.Accept(e.EP, nil) }, unconnected},
		"rsp_create": {func(e *udattest.Endpoint) error {
			_, err := udat.CreateRSP(t.ia, udattest.ConnQual(), e.EP, queue)
			return err
		}, unconnected},
		"reset": {func(e *udattest.Endpoint) error { return e.Reset() }, []udat.EPState{udat.EPStateUnconnected, udat.EPStateDisconnected}},
	}
	for name := range requests(origin.Segment(t, 0, 8), remote) {
		calls[name] = call{func(e *udattest.Endpoint) error { return requests(e.Segment(t, 0, 8), remote)[name](e.EP) }, connected}
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
