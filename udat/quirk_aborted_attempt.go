package udat

import "time"

// An attempt that the binding has ended goes on in the library.

// endAttempt aborts the attempt in progress, if there is one, and waits until the
// library is done with it. The caller holds control.
func (n *nativeEP) endAttempt(op string) {
	if !n.connection.InLibrary() {
		return
	}
	if n.attempting() {
		n.abortAs(callDisconnectAbrupt, op, EventConnectionDisconnected)
	}
	n.settleAttempt()
}

// settleAttempt waits on iWARP until the library is done with an answer of the peer that
// came at about the time of the abort: freeing the endpoint waits for the answer, and with
// it every call on the endpoint. The caller holds control.
func (n *nativeEP) settleAttempt() {
	if n.abortedAt.IsZero() || !n.ep.ia.iwarp {
		return
	}
	mayWait()
	bound := time.NewTimer(time.Until(n.abortedAt.Add(settleWithin)))
	defer bound.Stop()
	for {
		changed := n.connection.Changed()
		if !n.connection.InLibrary() {
			return
		}
		select {
		case <-changed:
		case <-bound.C:
			return
		}
	}
}
