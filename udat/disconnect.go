package udat

import (
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/connphase"
)

// Disconnect ends the connection, or its establishment. When that is done, both
// sides get EventConnectionDisconnected on their connect EVDs.
//
// CloseAbrupt fails what is outstanding with DTOErrFlushed. CloseGraceful lets
// the requests that are outstanding complete first; meanwhile the endpoint is
// in DISCONNECT_PENDING and takes no more of them, and CloseAbrupt ends the
// waiting. Neither blocks until the connection has ended.
//
// Whichever side ends the connection, the event comes once the requests have
// completed, for which it waits up to a quarter of a second. A suppressed request
// completes if it has failed, or was flushed, and not if it has succeeded. From
// then on no completion of a request is to come, and their memory can be freed
// once those that are there were taken.
//
// With the CMA provider CloseAbrupt takes 10 ms at least. To end many
// connections, call it from many goroutines.
//
// It does nothing in DISCONNECTED, and fails with ErrInvalidState in
// UNCONNECTED and in the other states before a connection.
//
// Implements:
//
//	DAT_RETURN dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle,
//	                             IN DAT_CLOSE_FLAGS disconnect_flags)
func (ep *EP) Disconnect(flags CloseFlags) (err error) {
	const op = "dat_ep_disconnect"
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	if err := ep.takeControl(op); err != nil {
		return err
	}
	defer ep.control.Unlock()
	if flags != CloseAbrupt && flags != CloseGraceful {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the flags are %v, they must be %v or %v", flags, CloseAbrupt, CloseGraceful)
	}
	state, err := ep.state(op)
	if err != nil {
		return err
	}
	defer ep.shadow.begin(disconnectCall(flags)).end(&err)
	n := ep.native.Load()
	if inAttempt(state) {
		if aborted, err := n.abort(op, EventConnectionDisconnected); aborted {
			return err
		}
		if state, err = ep.state(op); err != nil {
			return err
		}
	}
	switch state {
	case EPStateDisconnected:
		return nil
	case EPStateUnconnected, EPStateReserved, EPStatePassiveConnectionPending, EPStateTentativeConnectionPending:
		return refuse(op, ErrInvalidState, stateSubtype(state), "the endpoint is in the state %v, it has no connection: there is nothing to disconnect", state)
	case EPStateDisconnectPending:
		if flags == CloseGraceful {
			return nil
		}
	case EPStateConnected:
		n.connection.Do(connphase.Observe)
		if flags == CloseGraceful {
			if n.startDraining() {
				return nil
			}
			return check(op, n.disconnectInOrder())
		}
	}
	return check(op, n.breakOff())
}

// disconnect ends the connection in the library. Posts are paused meanwhile.
// The caller holds control.
func (n *nativeEP) disconnect(flags CloseFlags) cgo.Return {
	n.pausePosts()
	defer n.resumePosts()
	return n.disconnectPaused(flags)
}

// disconnectPaused is disconnect for a caller that has paused posts.
func (n *nativeEP) disconnectPaused(flags CloseFlags) cgo.Return {
	if n.abortedAt.IsZero() && n.connection.InLibrary() {
		n.abortedAt = time.Now()
	}
	mayWait()
	n.connection.Do(connphase.BeginDisconnect)
	r := cgo.EPDisconnect(n.handle, cgo.CloseFlags(flags))
	n.settleRequests()
	return r
}

// startDraining refuses further requests, and waits on another goroutine until those that
// are outstanding have completed. It returns false if there are none. The caller holds
// control.
func (n *nativeEP) startDraining() bool {
	n.request.mu.Lock()
	n.request.closed = true
	n.request.mu.Unlock()
	if n.request.idle() || !n.connection.Do(connphase.Drain) {
		return false
	}
	go n.drain()
	return true
}

// drain disconnects once the requests have completed, with success or not. The
// program may take the completions as they come; those that it does not take
// are kept for it on the EVD. If only suppressed requests are left that cannot be
// reported, drain waits for settleWithin.
func (n *nativeEP) drain() {
	const op = "dat_ep_disconnect"
	requests, evd := &n.request, n.parts.request
	for known := time.Now(); !requests.settled() && time.Since(known) < settleWithin; {
		changed := n.connection.Changed()
		if n.connection.Phase() != connphase.Draining {
			return
		}
		tells, err := requests.awaitOutcome(op, requests.report, changed)
		if tells {
			known = time.Now()
		}
		if err == errStopped {
			continue
		} else if err != nil {
			return
		}
		if evd.object().enter(op, InvalidHandleEVDRequest) != nil {
			return
		}
		evd.reap()
		evd.obj.leave()
	}
	if !n.takeControl(op) {
		return
	}
	defer n.ep.control.Unlock()
	if n.connection.Phase() == connphase.Draining { // nothing else has ended the connection
		n.disconnectInOrder() // should it fail, the connection has ended already
	}
}

// Reset makes a disconnected endpoint unconnected again, with the same
// attributes, so that it can connect or accept once more. Receives that are
// still posted, and requests whose completions the library has lost, complete
// with DTOErrFlushed. A suppressed request whose outcome is not known does not
// complete.
//
// In UNCONNECTED it takes back the receives that were posted there, which complete
// with DTOErrFlushed, so that their memory can be freed or used for something
// else. It fails with ErrInvalidState in any other state.
//
// The native endpoint is replaced: the library's own reset loses receives, and
// an endpoint that was accepted on writes to freed memory when it connects.
//
// Stands in for:
//
//	DAT_RETURN dat_ep_reset(IN DAT_EP_HANDLE ep_handle)
func (ep *EP) Reset() (err error) {
	const op = "dat_ep_reset"
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	if err := ep.takeControl(op); err != nil {
		return err
	}
	defer ep.control.Unlock()
	state, err := ep.state(op)
	n := ep.native.Load()
	switch {
	case err != nil:
		return err
	case state == EPStateDisconnected:
		n.awaitEnd()
	case state != EPStateUnconnected:
		return refuse(op, ErrInvalidState, stateSubtype(state), "the endpoint is in the state %v, it must be in %v or %v: %s", state, EPStateDisconnected, EPStateUnconnected, wayTo(EPStateUnconnected, state))
	case n.recv.idle():
		return nil
	}
	defer ep.shadow.begin(callReset).end(&err)
	return ep.renew(op, n.copyParts(), EPStateUnconnected, flushed)
}

// awaitEnd waits for the event of the end of a connection or an attempt. The
// library shows the state before it posts the event, which nobody would get once
// the native endpoint is replaced. The caller holds control.
func (n *nativeEP) awaitEnd() {
	mayWait()
	bound, stop := after(endWithin)
	defer stop()
	for n.parts.connect != nil {
		changed := n.connection.Changed()
		n.parts.queue.reap()
		if n.connection.Phase().Ended() {
			return
		}
		select {
		case <-changed:
		case <-bound:
			return
		}
	}
}

// endWithin is far longer than a thread of the library takes from the state to the event.
var endWithin = 5 * time.Second // longer in tests
