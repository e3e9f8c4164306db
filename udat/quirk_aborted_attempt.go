package udat

import "time"

// An attempt that the binding has ended goes on in the library. The library does not
// notice if the endpoint is freed while it handles the answer of the peer, unless it is
// patched.

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

// settleAttempt waits until the library is done with an answer of the peer that came at
// about the time of the abort. If the endpoint is freed meanwhile, the socket CM provider
// waits forever, and the CMA provider loses the queue pair or reads freed memory. The patched
// library can free it at any time; but on iWARP that waits for the answer, and with it every
// call on the endpoint. The caller holds control.
func (n *nativeEP) settleAttempt() {
	ia := n.ep.ia
	if n.abortedAt.IsZero() || ia.patched && !ia.iwarp {
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
