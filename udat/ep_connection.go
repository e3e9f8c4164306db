package udat

import (
	"net/netip"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/connphase"
)

// What the binding adds to the library's management of a connection goes by its
// phase: see package connphase. The library's own connect time-outs are not used:
// their timer is not cancelled by a disconnect and kills a later attempt on the same
// endpoint. And some attempts, with time-out or not, never end in an event.

// partner is the other side of a connection, as far as it is known.
type partner struct {
	service *remoteService // that the endpoint connects to, nil if it accepts
	called  ConnQual       // of the service point whose request it accepts
}

// remoteService is where an endpoint connects to.
type remoteService struct {
	address netip.Addr
	qual    ConnQual
}

// state returns the state of the endpoint, with a look at the shadow. The caller
// holds the gate or control.
func (ep *EP) state(op string) (EPState, error) {
	if ep.shadow != nil {
		return ep.shadow.observe(op)
	}
	return ep.libraryState(op)
}

func nativeState(handle cgo.EPHandle) (EPState, cgo.Return) {
	state, _, _, r := cgo.EPGetStatus(handle)
	return EPState(state), r
}

// libraryState returns the library's state, in place of which stands what the phase
// of the connection says of an end that the library does not know of, and of a
// graceful disconnect that it has not begun, or a reservation. What the library does
// not know is looked at first, since it is taken back only once the library has moved
// on. The caller holds the gate or control.
func (ep *EP) libraryState(op string) (EPState, error) {
	n, reserved := ep.native.Load(), ep.reserved.Load()
	phase := n.connection.Phase()
	state, r := nativeState(n.handle)
	switch {
	case state == EPStateUnconnected && n.connection.Phase().Empty():
		state = EPStateDisconnected
	case state == EPStateUnconnected && reserved != nil:
		state = reserved.state()
	case state == EPStateConnected || state == EPStateDisconnectPending:
		if phase == connphase.Attempting {
			phase = n.connection.Decided() // whether the attempt is aborted
		}
		switch {
		case phase.Ended():
			state = EPStateDisconnected
		case phase == connphase.Draining || phase == connphase.Leaving:
			state = EPStateDisconnectPending
		}
	}
	return state, check(op, r)
}

func inAttempt(state EPState) bool {
	return state == EPStateActiveConnectionPending || state == EPStateCompletionPending
}

// attempting reports whether the library works on an attempt that has had no outcome.
func (n *nativeEP) attempting() bool {
	state, r := nativeState(n.handle)
	return r.OK() && inAttempt(state)
}

// hear notes a connection event of the library. It reports false for one that the
// program must not see, or not yet. The caller holds the lock of the queue that it
// came to.
func (n *nativeEP) hear(event *Event) bool {
	in := connphase.Fail
	switch event.Number {
	case EventConnectionEstablished:
		in = connphase.Establish
	case EventConnectionDisconnected:
		in = connphase.Disconnect
	}
	switch n.connection.Hear(in, *event, n.request.settled) {
	case connphase.Deliver:
		if in != connphase.Establish {
			event.Number = n.endedBy(event.Number)
		}
		return true
	case connphase.Hold:
		go n.releaseEnd()
	case connphase.Owe:
		go n.fail()
	}
	return false
}

// endedBy returns the event that says how the connection ended, given the one that
// has come first: the peer learns of a failure, too, and may be faster. The CMA
// provider reports a rejection when the peer, who has accepted, goes away before it
// has heard of the establishment.
func (n *nativeEP) endedBy(first EventNumber) EventNumber {
	if first == EventConnectionBroken || n.connection.Broken() {
		return EventConnectionBroken
	}
	return EventConnectionDisconnected
}

// report gives the program the event that it is owed, if there is one. The caller
// holds control.
func (n *nativeEP) report() {
	if event, ofConnection, owed := n.connection.TakeOwed(); owed {
		if ofConnection {
			event.Number = n.endedBy(event.Number)
		}
		n.deliver(event)
	}
}

func (n *nativeEP) deliver(event Event) {
	n.ep.shadow.event(event.Number)
	n.parts.connect.add(event)
}

// abort ends the attempt in progress with the given event, which the program
// gets once the library is done with the attempt. It reports false, and does
// nothing, if the attempt has had its outcome in the last moment. The caller
// holds control.
func (n *nativeEP) abort(op string, event EventNumber) (aborted bool, err error) {
	if !n.connection.Owe(connphase.Abort, Event{Number: event, native: n}, n.attempting) {
		return false, nil
	}
	r := n.disconnect(CloseAbrupt)
	if n.ep.ia.iwarp {
		go n.reportAborted()
	} else {
		time.AfterFunc(settleWithin, n.fail)
	}
	return true, check(op, r)
}

// abortAs is abort as a call of its own in the eyes of the shadow.
func (n *nativeEP) abortAs(c epCall, op string, event EventNumber) {
	call := n.ep.shadow.begin(c)
	if aborted, err := n.abort(op, event); aborted {
		call.end(&err)
	} else {
		call.withdraw()
	}
}

// expire ends an attempt that took too long.
func (n *nativeEP) expire(event EventNumber) {
	const op = "dat_ep_disconnect"
	if !n.hold(op) {
		return
	}
	defer n.ep.control.Unlock()
	n.abortAs(callTimeOut, op, event) // unless its event is on the way
}

// hold takes control of the endpoint for a timer or goroutine that is about this native
// endpoint. It reports false if that is the endpoint's no more.
func (n *nativeEP) hold(op string) bool {
	if n.ep.takeTurn(op) != nil {
		return false
	}
	if !n.current() {
		n.ep.control.Unlock()
		return false
	}
	return true
}

// fail replaces the native endpoint of an attempt that has failed, after which
// the program gets the event that says so. The socket CM provider leaves the
// receives of such an endpoint where they are, takes more forever and loses
// sends. And with an attempt that was broken off, both providers give the peer
// half a connection unless the endpoint goes. The same ends a connection that does
// not end in the library: see endUnreported.
func (n *nativeEP) fail() {
	const op = "dat_ep_connect"
	if !n.hold(op) {
		return
	}
	defer n.ep.control.Unlock()
	if n.ep.renew(op, n.copyParts(), EPStateDisconnected, kept) != nil {
		n.report() // it must do without
	}
}
