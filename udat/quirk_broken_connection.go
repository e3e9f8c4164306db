package udat

import (
	"time"

	"github.com/goudat/goudat/udat/internal/connphase"
)

// brokenWithin is how long a broken connection is kept, so that the peer learns the
// reason: if this side ended the connection at once, the adapter's message about it would
// be lost.
const brokenWithin = 250 * time.Millisecond

// broken is called when the adapter has reported an error of the queue pair. It has the
// connection ended, which the library does not do: the library takes the connection for
// ended, but reports no end, does not tell the peer, and ignores a disconnect. Adapters
// report such errors on the side whose memory the peer may not reach, and so does
// soft-RoCE of Linux 7.3.
func (n *nativeEP) broken() {
	n.connection.Break()
	if !n.breaking {
		n.breaking = true
		time.AfterFunc(brokenWithin, n.endBroken)
	}
}

// endBroken ends a broken connection, unless it has ended meanwhile.
func (n *nativeEP) endBroken() {
	if n.breakOffBroken() {
		n.replaceAfterFailure()
	}
}

// breakOffBroken disconnects a broken connection if the library can do that. Otherwise it
// notes that the connection has ended, settles the requests, and returns true; no
// completion of a request comes after that.
func (n *nativeEP) breakOffBroken() (forgotten bool) {
	const op = "dat_ep_disconnect"
	if !n.takeControl(op) {
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
	n.pausePosts()
	n.settleRequests()
	n.resumePosts()
	return true
}

// operationFailed is called when the library has reported an operation that failed. The
// library then ends the connection by itself, unless the operation was flushed.
// Operations are flushed when a connection ends; but soft-RoCE of Linux 6.12 and 7.3 also
// flushes an operation that fails on this side before any of it is sent, and all after
// it. The queue pair then takes no more operations, and no event says so.
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

// limitBroken ends a connection that takes no more operations, unless its end is reported
// within brokenWithin.
func (n *nativeEP) limitBroken() {
	if n.connection.Phase() >= connphase.Connected && !n.connection.Limited() {
		n.limitEnd(brokenWithin, n.endBroken)
	}
}
