package udat

import (
	"net/netip"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/connphase"
)

// The binding follows a connection through its phases: see package connphase. It does
// not use the library's connect time-outs: a disconnect does not cancel their timer,
// which then ends a later attempt on the same endpoint. And some attempts never end in
// an event, with or without a time-out.

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

// state returns the state of the endpoint, and has the shadow, if there is one, check
// it. The caller holds the gate or control.
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

// libraryState returns the library's state, corrected by what the library does not know:
// that the connection has ended, that a graceful disconnect has begun, or that the
// endpoint is reserved. It reads the phase and the reservation before the library's
// state, since the binding changes them only after the library's state has changed. The
// caller holds the gate or control.
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
		case phase == connphase.Draining || phase == connphase.Disconnecting:
			state = EPStateDisconnectPending
		}
	}
	return state, check(op, r)
}

func inAttempt(state EPState) bool {
	return state == EPStateActiveConnectionPending || state == EPStateCompletionPending
}

// attempting reports whether the library is working on an attempt that has no outcome
// yet.
func (n *nativeEP) attempting() bool {
	state, r := nativeState(n.handle)
	return r.OK() && inAttempt(state)
}

// handleEvent handles a connection event of the library. It returns false if the program
// must not get the event, or not yet. The caller holds the lock of the queue that the
// event came to.
func (n *nativeEP) handleEvent(event *Event) bool {
	in := connphase.Fail
	switch event.Number {
	case EventConnectionEstablished:
		in = connphase.Establish
	case EventConnectionDisconnected:
		in = connphase.Disconnect
	}
	switch n.connection.Handle(in, *event, n.request.settled) {
	case connphase.Deliver:
		if in != connphase.Establish {
			event.Number = n.endedBy(event.Number)
		}
		return true
	case connphase.KeepUntilSettled:
		go n.releaseEnd()
	case connphase.KeepUntilReplaced:
		go n.replaceAfterFailure()
	}
	return false
}

// endedBy returns the event that says how the connection ended, given the first event of
// its end. They can differ. If the connection is broken, the peer learns of that, too, and
// its disconnect may come first. And the CMA provider reports a rejection if a peer that
// has accepted goes away before it gets the event of the establishment.
func (n *nativeEP) endedBy(first EventNumber) EventNumber {
	if first == EventConnectionBroken || n.connection.Broken() {
		return EventConnectionBroken
	}
	return EventConnectionDisconnected
}

// report delivers the event that was kept for the program, if there is one. The caller
// holds control.
func (n *nativeEP) report() {
	if event, ofConnection, ok := n.connection.TakeKept(); ok {
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

// abort ends the attempt in progress with the given event, which the program gets once
// the library is done with the attempt. If the attempt has just had another outcome,
// abort does nothing and returns false. The caller holds control.
func (n *nativeEP) abort(op string, event EventNumber) (aborted bool, err error) {
	if !n.connection.DoAndKeep(connphase.Abort, Event{Number: event, native: n}, n.attempting) {
		return false, nil
	}
	r := n.disconnect(CloseAbrupt)
	if n.ep.ia.iwarp {
		go n.reportAborted()
	} else {
		time.AfterFunc(settleWithin, n.replaceAfterFailure)
	}
	return true, check(op, r)
}

// abortAs is abort, which the shadow takes for the call c.
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
	if !n.takeControl(op) {
		return
	}
	defer n.ep.control.Unlock()
	n.abortAs(callTimeOut, op, event) // does nothing if the attempt has just had its outcome
}

// takeControl takes control of the endpoint for a timer or goroutine that belongs to this
// native endpoint. It returns false, without control, if the endpoint is freed or has
// another native endpoint by now.
func (n *nativeEP) takeControl(op string) bool {
	if n.ep.takeControl(op) != nil {
		return false
	}
	if !n.current() {
		n.ep.control.Unlock()
		return false
	}
	return true
}

// replaceAfterFailure replaces the native endpoint of an attempt that has failed. After
// that the program gets the event that says so. The socket CM provider would never flush
// the receives of such an endpoint, accept further receives that never complete, and lose
// sends. And after an attempt that was aborted, both providers leave the peer with half a
// connection until the endpoint is freed. replaceAfterFailure also ends a connection that
// does not end in the library: see breakOffBroken.
func (n *nativeEP) replaceAfterFailure() {
	const op = "dat_ep_connect"
	if !n.takeControl(op) {
		return
	}
	defer n.ep.control.Unlock()
	if n.ep.renew(op, n.copyParts(), EPStateDisconnected, reposted) != nil {
		n.report() // without another native endpoint
	}
}
