package conformance

import (
	"errors"
	"slices"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var disconnectClauses = []requirement{
	{"Either side of a connection may disconnect.", eitherSide},
	{"A disconnect is abrupt unless asked otherwise.", abruptByDefault},
	{"Abrupt: all that is outstanding completes without success.", abruptFlushes},
	{"Abrupt: operations in progress may complete either way; once one has failed, all behind it in its direction fail.", failuresStayFailures},
	{"Those completions come in the order of posting.", flushedInOrder},
	{"Graceful: requests that are outstanding are tried to the end first.", gracefulDrains},
	{"Graceful: meanwhile the state is DISCONNECT_PENDING.", gracefulIsPending},
	{"Abrupt in DISCONNECT_PENDING: DISCONNECTED without further waiting.", abruptEndsGraceful},
	{"Graceful in DISCONNECT_PENDING: no effect.", gracefulTwice},
	{"Without a connection both flags mean the same.", flagsMeanTheSame},
	{"In DISCONNECT_PENDING no request can be posted.", pendingTakesNoRequests},
	{"The end is reported as DISCONNECTED on the connect EVD.", endIsReported},
	{"The peer gets DISCONNECTED as well.", peerIsTold},
	{"The state becomes DISCONNECTED by itself.", stateFollows},
	{"On an EVD for completions and connection events, completions with success come before the disconnect.", completionsFirst},
	{"Disconnecting a DISCONNECTED endpoint does nothing.", disconnectedAlready},
	{"In UNCONNECTED it is an invalid state.", notUnconnected},
	{"In RESERVED it is an invalid state.", notReserved},
	{"In PASSIVE_CONNECTION_PENDING it is an invalid state.", notPassivePending},
	{"In TENTATIVE_CONNECTION_PENDING it is an invalid state.", noState},
	{"In ACTIVE_CONNECTION_PENDING it aborts: DISCONNECTED, posted receives are flushed.", abortsConnecting},
	{"In COMPLETION_PENDING it aborts likewise.", abortsCompleting},
	{"Unknown flags are an invalid parameter, in every state.", invalidFlags},
	{"An invalid endpoint is an invalid handle.", invalidHandle(
		func(ep *udat.EP) error { return ep.Disconnect(udat.CloseAbrupt) },
		func(ep *udat.EP) error { return ep.Disconnect(udat.CloseGraceful) },
	)},
}

var closeFlags = []udat.CloseFlags{udat.CloseAbrupt, udat.CloseGraceful}

func eitherSide(t *trial) {
	for _, flags := range closeFlags {
		for _, side := range []int{0, 1} {
			a, b := t.pair()
			t.must([]*udattest.Endpoint{a, b}[side].Disconnect(flags))
			t.disconnected(a, b)
		}
	}
}

// The zero value of the flags is the abrupt disconnect.
func abruptByDefault(t *trial) {
	a, b := t.pair()
	t.stick(a, b, 1, 2) // a graceful disconnect would wait for them
	var flags udat.CloseFlags
	t.must(a.Disconnect(flags))
	t.flushed(a.Request, 1, 2)
	t.disconnected(a, b)
}

func abruptFlushes(t *trial) {
	t.remarkOnIWARP(handedOver)
	for _, byPeer := range []bool{false, true} {
		a, b := t.pair()
		t.postRecv(a, series(0, 8)...)
		t.stick(a, b, 20, 21)
		t.postRead(a, b, 22)
		t.postWrite(a, b, 23)
		if byPeer {
			t.must(b.Disconnect(udat.CloseAbrupt))
		} else {
			t.must(a.Disconnect(udat.CloseAbrupt))
		}
		t.disconnected(a, b)
		t.flushed(a.Recv, series(0, 8)...)
		t.flushed(a.Request, 20, 21, 22, 23)
		t.wantIdle(a, true, true)
	}
}

// Only half of the messages have a receive, so that the disconnect comes in the middle.
func failuresStayFailures(t *trial) {
	t.remarkOnIWARP(handedOver)
	const n = 64
	for range 4 {
		a, b := t.deepPair(n)
		t.postRecv(b, series(0, n/2)...)
		t.postSend(a, series(0, n/2)...)
		t.stick(a, b, series(n/2, n/2)...)
		t.must(a.Disconnect(udat.CloseAbrupt))
		t.disconnected(a, b)
		sent := t.completions(a.Request, series(0, n)...)
		if !monotone(sent) || sent[n-1] == udat.DTOSuccess {
			t.Errorf("the sends complete with %v", sent)
		}
		if received := t.completions(b.Recv, series(0, n/2)...); !monotone(received) {
			t.Errorf("the receives complete with %v", received)
		}
	}
}

func flushedInOrder(t *trial) {
	const n = 200
	a, b := t.deepPair(n + occupying)
	t.postRecv(a, series(0, n)...)
	for i := range uint64(n) {
		switch i % 3 {
		case 0:
			t.stickOnce(a, b, i)
		case 1:
			t.postRead(a, b, i)
		case 2:
			t.postWrite(a, b, i)
		}
	}
	t.must(b.Disconnect(udat.CloseAbrupt))
	t.disconnected(a, b)
	t.flushed(a.Recv, series(0, n)...)
	t.flushed(a.Request, series(0, n)...)
	udattest.NoEvent(t, a.Recv)
	udattest.NoEvent(t, a.Request)
}

// Hundreds of requests wait for receives when the disconnect begins. Nobody takes their completions before it has
// ended.
func gracefulDrains(t *trial) {
	t.remarkOnIWARP(handedOver)
	const n = 400
	a, b := t.deepPair(n + occupying)
	const sends = n / 2
	if t.iwarp {
		t.postRecv(b, series(0, sends)...)
		t.occupy(a, b)
	}
	for i := range uint64(n) {
		switch i % 4 {
		case 1:
			t.postRead(a, b, i)
		case 2:
			t.postWrite(a, b, i)
		default:
			t.postSend(a, i)
		}
	}
	t.must(a.Disconnect(udat.CloseGraceful))
	t.wantState(a, udat.EPStateDisconnectPending)
	t.unstick(b, series(0, sends)...)
	t.disconnected(a, b)
	t.succeeded(a.Request, series(0, n)...)
	t.succeeded(b.Recv, series(0, sends)...)
	t.wantIdle(a, true, true)
}

func gracefulIsPending(t *trial) {
	a, b := t.disconnecting()
	t.wantIdle(a, true, false)
	if err := quiet(a.Connect, 20*time.Millisecond); err != nil {
		t.Error(err)
	}
	t.wantState(a, udat.EPStateDisconnectPending)
	t.wantState(b, udat.EPStateConnected)
	t.drained(a, b)
	t.unstuck(b, 1)
}

// drained lets a graceful disconnect end.
func (t *trial) drained(a, b *udattest.Endpoint) {
	t.Helper()
	t.unstick(b, 1)
	t.disconnected(a, b)
	t.succeeded(a.Request, 9001)
}

func abruptEndsGraceful(t *trial) {
	a, b := t.disconnecting()
	t.must(a.Disconnect(udat.CloseAbrupt))
	t.disconnected(a, b)
	t.flushed(a.Request, 9001)
}

func gracefulTwice(t *trial) {
	a, b := t.disconnecting()
	for range 3 {
		t.must(a.Disconnect(udat.CloseGraceful))
		t.wantState(a, udat.EPStateDisconnectPending)
	}
	t.wantState(b, udat.EPStateConnected)
	t.drained(a, b)
	udattest.NoEvent(t, a.Connect)
}

// flagsMeanTheSame compares the results of both flags in each state without a connection.
func flagsMeanTheSame(t *trial) {
	t.walk(func(e *udattest.Endpoint, state udat.EPState) {
		switch state {
		case udat.EPStateConnected, udat.EPStateDisconnectPending, udat.EPStateActiveConnectionPending:
			return // the last one: more below, since the state changes
		}
		var returns []udat.Return
		for _, flags := range closeFlags {
			var e2 *udat.Error
			if err := e.Disconnect(flags); errors.As(err, &e2) {
				returns = append(returns, e2.Return)
			} else {
				returns = append(returns, 0)
			}
			t.wantState(e, state)
		}
		if returns[0] != returns[1] {
			t.Errorf("in %v an abrupt disconnect returns %v, a graceful one %v", state, returns[0], returns[1])
		}
	})
	var attempts []*udattest.Endpoint
	t.remarkOnIWARP(noCompleting)
	if !t.iwarp {
		attempts = t.completing(len(closeFlags))
	}
	for range closeFlags {
		connecting, _ := t.connecting(nil)
		attempts = append(attempts, connecting)
	}
	for i, e := range attempts {
		t.must(e.Disconnect(closeFlags[i%len(closeFlags)]))
		t.disconnected(e)
	}
}

func pendingTakesNoRequests(t *trial) {
	a, b := t.disconnecting()
	for name, post := range requests(a.Segment(t, 0, 8), t.remote(b)) {
		err := post(a.EP)
		if !errors.Is(err, udat.ErrInvalidState) && !(t.lacks(name) && errors.Is(err, errors.ErrUnsupported)) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	t.drained(a, b)
	udattest.NoEvent(t, a.Request) // nothing was posted
}

func endIsReported(t *trial) { t.told(func(a, _ *udattest.Endpoint) *udattest.Endpoint { return a }) }

func peerIsTold(t *trial) { t.told(func(_, b *udattest.Endpoint) *udattest.Endpoint { return b }) }

// told shows that a side of a connection gets one event when one of them disconnects.
func (t *trial) told(side func(disconnects, peer *udattest.Endpoint) *udattest.Endpoint) {
	t.Helper()
	for _, flags := range closeFlags {
		a, b := t.pair()
		t.must(a.Disconnect(flags))
		e := side(a, b)
		event := udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
		if event.EP() != e.EP || event.Err() != nil {
			t.Errorf("the event is %+v", event)
		}
		t.must(e.Reset())
		udattest.NoEvent(t, e.Connect) // one is enough
	}
}

func stateFollows(t *trial) {
	for _, flags := range closeFlags {
		a, b := t.pair()
		t.must(a.Disconnect(flags))
		// Only get_status is called, and nobody takes an event.
		for deadline := time.Now().Add(udattest.Patience); t.status(a).State != udat.EPStateDisconnected; {
			if time.Now().After(deadline) {
				t.Fatalf("the endpoint stays in %v", t.status(a).State)
			}
		}
		t.disconnected(a, b)
	}
}

func completionsFirst(t *trial) {
	_, err := udat.CreateEVD(t.ia, 64, nil, udat.EVDDTO|udat.EVDConnection)
	t.refused(err, udat.ErrInvalidParameter)
	// With separate EVDs, all completions are there by then.
	a, b := t.pair()
	t.postRecv(b, series(0, 8)...)
	t.postSend(a, series(0, 8)...)
	t.must(a.Disconnect(udat.CloseGraceful))
	udattest.Expect(t, a.Connect, udat.EventConnectionDisconnected)
	events := make([]udat.Event, 16)
	if n, err := a.Request.Poll(events); n != 8 || err != nil || slices.ContainsFunc(events[:n], func(e udat.Event) bool { return e.Err() != nil }) {
		t.Errorf("at the disconnect there are %d completions, %v: %v", n, err, events[:n])
	}
	udattest.Expect(t, b.Connect, udat.EventConnectionDisconnected)
	t.notShown("no provider lets completions and connection events share an EVD, so their order cannot be seen; with separate EVDs, all completions are there when a graceful disconnect is reported",
		"a provider that merges the two streams, as EVDStreamMergingSupported would say")
}

func disconnectedAlready(t *trial) {
	a, b := t.pair()
	t.must(a.Disconnect(udat.CloseAbrupt))
	t.disconnected(a, b)
	for _, e := range []*udattest.Endpoint{a, b} {
		for _, flags := range closeFlags {
			t.must(e.Disconnect(flags))
			t.wantState(e, udat.EPStateDisconnected)
		}
		if err := quiet(e.Connect, 20*time.Millisecond); err != nil {
			t.Error(err)
		}
		t.must(e.Reset())
	}
	t.connectTo(a, b)
	t.exchange(a, b)
}

// disallowed shows that neither flag disconnects an endpoint in a state.
func (t *trial) disallowed(e *udattest.Endpoint, subtype udat.ReturnSubtype) {
	t.Helper()
	before := t.status(e)
	for _, flags := range closeFlags {
		t.refused(e.Disconnect(flags), udat.ErrInvalidState, subtype)
		if s := t.status(e); s != before {
			t.Errorf("the call has changed the status from %+v to %+v", before, s)
		}
	}
}

func notUnconnected(t *trial) {
	e := t.endpoint()
	t.postRecv(e, 1)
	t.disallowed(e, udat.InvalidStateEPUnconnected)
	udattest.NoEvent(t, e.Recv) // is not flushed
	udattest.NoEvent(t, e.Connect)
}

func notReserved(t *trial) {
	e, _, _, _ := t.reserved(nil)
	t.postRecv(e, 1)
	t.disallowed(e, udat.InvalidStateEPReserved)
	udattest.NoEvent(t, e.Recv)
}

func notPassivePending(t *trial) {
	e, client, _, cr := t.passive()
	t.postRecv(e, 1)
	t.disallowed(e, udat.InvalidStateEPPassConnPending)
	udattest.NoEvent(t, e.Recv)
	t.accepted(cr, nil, client, e) // goes on
}

func abortsConnecting(t *trial) {
	for _, flags := range closeFlags {
		e, cr := t.connecting(func(e *udattest.Endpoint) { t.postRecv(e, 1, 2) })
		t.postRecv(e, 3)
		t.must(e.Disconnect(flags))
		t.disconnected(e)
		t.flushed(e.Recv, 1, 2, 3)
		t.wantIdle(e, true, true)
		udattest.NoEvent(t, e.Connect)
		_ = cr.Reject(nil) // its peer has gone
		t.must(e.Reset())
		peer := t.endpoint()
		t.connectTo(e, peer) // and can be used again
		t.exchange(e, peer)
	}
}

func abortsCompleting(t *trial) {
	if t.iwarp {
		t.notShown("no endpoint stays in the state: on iWARP the side that accepts is connected at once", "another transport")
		return
	}
	completing := t.completing(len(closeFlags))
	for i, flags := range closeFlags {
		e := completing[i]
		t.postRecv(e, 1, 2)
		t.must(e.Disconnect(flags))
		t.disconnected(e)
		t.flushed(e.Recv, 1, 2)
		t.wantIdle(e, true, true)
		udattest.NoEvent(t, e.Connect)
	}
}

func invalidFlags(t *trial) {
	t.walkAll(func(e *udattest.Endpoint, state udat.EPState) {
		for _, flags := range []udat.CloseFlags{2, 3, 77, 1 << 31} {
			if err := e.Disconnect(flags); !errors.Is(err, udat.ErrInvalidParameter) {
				t.Errorf("flags %d in %v: the error is %v", uint32(flags), state, err)
			}
			t.wantState(e, state)
		}
	})
	t.remark(noTentative)
}
