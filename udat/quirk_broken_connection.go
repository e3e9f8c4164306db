package udat

import (
	"time"

	"github.com/goudat/goudat/udat/internal/connphase"
)

// brokenWithin is how long a connection that is broken may go on, so that the peer
// learns the reason: what the adapter has to say of it is lost when this side ends the
// connection at once.
const brokenWithin = 250 * time.Millisecond

// broken has a connection ended of which the adapter has reported an error of the
// queue pair. The library does not: it takes the connection for ended, which it
// neither reports nor tells the peer, and does nothing in a disconnect. Adapters
// report such errors on the side whose memory the peer may not reach, and so does
// soft-RoCE of Linux 7.3.
func (n *nativeEP) broken() {
	// With a shared receive queue it may only be that the last receive of a
	// connection that ends has been taken.
	if n.parts.srq == nil {
		n.connection.Break()
	}
	if !n.breaking {
		n.breaking = true
		time.AfterFunc(brokenWithin, n.endBroken)
	}
}

// endBroken ends a connection that is broken, unless somebody else has.
func (n *nativeEP) endBroken() {
	if n.breakOffBroken() {
		n.fail()
	}
}

// breakOffBroken reports true when the library cannot end the connection. No
// completion of a request is to come then.
func (n *nativeEP) breakOffBroken() (forgotten bool) {
	const op = "dat_ep_disconnect"
	if !n.hold(op) {
		return false
	}
	defer n.ep.control.Unlock()
	state, r := nativeState(n.handle)
	n.parts.queue.reap()
	phase := n.connection.Phase()
	if !r.OK() || phase < connphase.Connected || phase.Ended() {
		return false
	}
	n.connection.Break()
	if state == EPStateConnected {
		call := n.ep.shadow.begin(callDisconnectAbrupt)
		err := check(op, n.breakOff())
		call.end(&err)
		return false
	}
	if state != EPStateDisconnected || !n.forget(EventConnectionBroken) {
		return false
	}
	n.bar()
	n.settleRequests()
	n.unbar()
	return true
}

// operationFailed notes that the library has reported an operation that failed. It
// ends the connection by itself unless that was flushed. Operations are flushed when
// a connection ends; but soft-RoCE of Linux 6.12 and 7.3 also flushes one that fails
// on this side before anything of it is sent, and everything after it. The queue pair
// then takes nothing more, and nobody is told.
func (n *nativeEP) operationFailed(status DTOStatus) {
	phase := n.connection.Phase()
	switch {
	case phase.Ending():
	case status != DTOErrFlushed:
		n.connection.Break()
	default:
		n.limitBroken()
	}
}

// limitBroken has a connection ended that can do nothing more, unless its end comes.
func (n *nativeEP) limitBroken() {
	if n.connection.Phase() >= connphase.Connected && !n.connection.Limited() {
		n.limitEnd(brokenWithin, n.endBroken)
	}
}
