package udat

import (
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/connphase"
)

// The library waits a minute for a peer that does not answer a graceful disconnect.

// disconnectInOrder begins a graceful disconnect in the library. If the peer does not
// answer soon, leaveUnanswered ends the connection: the library would wait for a minute.
// The caller holds control.
func (n *nativeEP) disconnectInOrder() cgo.Return {
	r := n.disconnect(CloseGraceful)
	n.limitEnd(answerWithin, n.leaveUnanswered)
	return r
}

// limitEnd has otherwise end the connection, unless its end is reported in time.
func (n *nativeEP) limitEnd(within time.Duration, otherwise func()) {
	if phase := n.connection.Phase(); !phase.Ended() {
		n.connection.Limit(phase, within, otherwise)
	}
}

// answerWithin is as long as the library waits for the peer in an abrupt disconnect.
const answerWithin = 250 * time.Millisecond

// leaveUnanswered abruptly ends a connection whose peer has not answered the disconnect.
func (n *nativeEP) leaveUnanswered() {
	if n.takeControl("dat_ep_disconnect") {
		defer n.ep.control.Unlock()
		n.breakOff()
	}
}

// breakOff ends an established connection abruptly. The caller holds control.
func (n *nativeEP) breakOff() cgo.Return {
	r := n.disconnect(CloseAbrupt)
	n.connection.Unlimit()
	return r
}

// forget notes that the library will not report the end of the connection, for which the
// program gets the given event. It returns false if the library has reported the end.
func (n *nativeEP) forget(event EventNumber) bool {
	return n.connection.DoAndKeep(connphase.Forget, Event{Number: event, native: n}, func() bool { return true })
}
