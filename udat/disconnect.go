package udat

import (
	"time"

	"github.com/goudat/goudat/cgo"
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
	ep.control.Lock()
	defer ep.control.Unlock()
	if err := ep.obj.enter(op, InvalidHandleEP); err != nil {
		return err
	}
	defer ep.obj.leave()
	if flags != CloseAbrupt && flags != CloseGraceful {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the flags are %v, they must be %v or %v", flags, CloseAbrupt, CloseGraceful)
	}
	state, err := ep.state(op)
	if err != nil {
		return err
	}
	defer ep.shadow.begin(disconnectCall(flags)).end(&err)
	if inAttempt(state) {
		if aborted, err := ep.abort(op, EventConnectionDisconnected); aborted {
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
		defer ep.connection.stopDraining()
	case EPStateConnected:
		if flags == CloseGraceful {
			if ep.startDraining() {
				return nil
			}
			return check(op, ep.disconnectInOrder())
		}
	}
	return check(op, ep.breakOff())
}

// disconnectInOrder ends the connection without waiting for the peer, who must
// answer soon: the library would wait for a minute. The caller holds control.
func (ep *EP) disconnectInOrder() cgo.Return {
	ep.lockDirections()
	defer ep.unlockDirections()
	r := ep.disconnectNative(CloseGraceful)
	ep.limitEnd(answerWithin, ep.leaveUnanswered)
	return r
}

// limitEnd has the connection ended otherwise, unless its end is reported in time.
// The caller holds control.
func (ep *EP) limitEnd(within time.Duration, otherwise func(attempt uint64)) {
	c := &ep.connection
	attempt := c.attempt.Load()
	stopTimer(&c.unanswered)
	c.unanswered.Store(time.AfterFunc(within, func() { otherwise(attempt) }))
	if c.over.Load() {
		stopTimer(&c.unanswered) // the report was faster
	}
}

// answerWithin is how long the library waits in an abrupt disconnect.
const answerWithin = 250 * time.Millisecond

// leaveUnanswered ends a connection whose peer has not answered the disconnect.
func (ep *EP) leaveUnanswered(attempt uint64) {
	const op = "dat_ep_disconnect"
	ep.control.Lock()
	defer ep.control.Unlock()
	if ep.connection.attempt.Load() != attempt || ep.obj.enter(op, InvalidHandleEP) != nil {
		return
	}
	defer ep.obj.leave()
	ep.breakOff()
}

// breakOff ends an established connection abruptly. The caller holds control.
func (ep *EP) breakOff() cgo.Return {
	r := ep.disconnectAbruptly()
	ep.limitEnd(endWithin, ep.endUnreported)
	return r
}

// endUnreported ends a connection whose end the library does not report. That of
// the distributions' packages has such connections with the socket CM provider:
// those that it said to be established though the queue pair was not ready.
func (ep *EP) endUnreported(attempt uint64) {
	if ep.decideEnd(attempt) {
		ep.fail()
	}
}

// decideEnd notes that the connection has ended, unless the library has reported
// so in the last moment.
func (ep *EP) decideEnd(attempt uint64) bool {
	const op = "dat_ep_disconnect"
	ep.control.Lock()
	defer ep.control.Unlock()
	c := &ep.connection
	if c.attempt.Load() != attempt || ep.obj.enter(op, InvalidHandleEP) != nil {
		return false
	}
	defer ep.obj.leave()
	ep.queue.reap()
	if c.over.Swap(true) {
		return false
	}
	c.failure.Store(&Event{Number: EventConnectionDisconnected, ep: ep})
	return true
}

// disconnectAbruptly ends the connection with nothing posted meanwhile. The
// caller holds control.
func (ep *EP) disconnectAbruptly() cgo.Return {
	ep.lockDirections()
	defer ep.unlockDirections()
	return ep.disconnectNative(CloseAbrupt)
}

// disconnectNative ends the connection in the library, which does not return
// until it has seen all posted receives flushed. It waits for ever for one that
// was posted while the peer disconnected: the adapter may have done its flushing
// by then. The caller holds control and both directions.
func (ep *EP) disconnectNative(flags CloseFlags) cgo.Return {
	ep.connection.noteAbort()
	ep.connection.leaving.Store(true)
	ep.rest()
	rescue := ep.startRescue(flags)
	r := cgo.EPDisconnect(ep.handle, cgo.CloseFlags(flags))
	rescued := rescue.end()
	if rescued && flags == CloseGraceful {
		cgo.EPDisconnect(ep.handle, cgo.CloseAbrupt) // nothing is reset before the end
	}
	ep.wake()
	ep.settleRequests()
	if rescued {
		// A reset takes what is posted from the adapter. It also makes the native
		// endpoint unconnected, which the program must not see.
		ep.connection.ended.Store(true)
		cgo.EPReset(ep.handle)
		ep.reap()
		ep.flush()
	}
	return r
}

// flushReceives completes the receives that the library has lost.
func (ep *EP) flushReceives() {
	if ep.recvEVD == nil {
		return
	}
	ep.recvEVD.reap()
	for _, event := range ep.recv.flush() {
		ep.recvEVD.add(event)
	}
}

// noteAbort notes when an attempt that is in the library is ended.
func (c *connection) noteAbort() {
	if c.inLibrary.Load() && c.aborted.Load() == nil {
		now := time.Now()
		c.aborted.Store(&now)
	}
}

// endAttempt aborts the attempt in progress, if there is one, and waits until the
// library is done with it. The caller holds control and nothing else, so that
// nobody has to wait for the gate or for the directions meanwhile.
func (ep *EP) endAttempt(op string) {
	if !ep.connection.inLibrary.Load() {
		return
	}
	if ep.attempting(op) {
		ep.abortAs(callDisconnectAbrupt, op, EventConnectionDisconnected)
	}
	ep.settleAttempt()
}

// settleAttempt waits until the library is done with an answer of the peer that
// came about when the attempt was aborted. It does not notice that the endpoint
// is freed meanwhile: the socket CM provider then waits for ever, the CMA
// provider loses the queue pair or reads its memory. The caller holds control.
func (ep *EP) settleAttempt() {
	c := &ep.connection
	if at := c.aborted.Load(); at != nil && c.inLibrary.Load() {
		time.Sleep(time.Until(at.Add(settleWithin)))
	}
}

// startDraining lets no more requests in and has those that are outstanding
// completed. It reports false when there are none. The caller holds control.
func (ep *EP) startDraining() bool {
	c := &ep.connection
	ep.request.mu.Lock()
	ep.request.closed = true
	ep.request.mu.Unlock()
	if ep.request.idle() {
		return false
	}
	d := &draining{stop: make(chan struct{})}
	c.draining.Store(d)
	go ep.drain(d, ep.requestEVD)
	return true
}

// stopDraining ends the graceful part of a disconnect, once the library has
// begun its own: until then the endpoint would look connected again. The caller
// holds control.
func (c *connection) stopDraining() {
	if d := c.draining.Swap(nil); d != nil {
		close(d.stop)
	}
}

// drain disconnects once the requests have completed, with success or not. The
// program may take the completions as they come; those that it does not take
// are kept for it on the EVD.
func (ep *EP) drain(d *draining, evd *EVD) {
	const op = "dat_ep_disconnect"
	for requests := &ep.request; !requests.settled(); {
		requests.mu.Lock()
		requests.report()
		requests.mu.Unlock()
		if err := evd.await(op, requests.settled, d.stop); err != nil {
			return
		}
		if evd.object().enter(op, InvalidHandleEVDRequest) != nil {
			return
		}
		evd.reap()
		evd.obj.leave()
	}
	ep.control.Lock()
	defer ep.control.Unlock()
	select {
	case <-d.stop: // somebody was faster
		return
	default:
	}
	if ep.obj.enter(op, InvalidHandleEP) != nil {
		return
	}
	defer ep.obj.leave()
	// Should it fail, the connection has ended already.
	ep.disconnectInOrder()
	ep.connection.stopDraining()
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
	ep.control.Lock()
	defer ep.control.Unlock()
	state, err := ep.stateNow(op)
	switch {
	case err != nil:
		return err
	case state == EPStateDisconnected:
		ep.awaitEnd()
	case state != EPStateUnconnected:
		return refuse(op, ErrInvalidState, stateSubtype(state), "the endpoint is in the state %v, it must be in %v or %v: %s", state, EPStateDisconnected, EPStateUnconnected, wayTo(EPStateUnconnected, state))
	case ep.recv.idle():
		return nil
	}
	defer ep.recount()
	defer ep.shadow.begin(callReset).end(&err)
	return ep.renew(op, ep.parts(), EPStateUnconnected, earlyFlushed)
}

// awaitEnd waits for the event of the end of a connection or an attempt. The
// library shows the state before it posts the event, which nobody would get once
// the native endpoint is replaced. The caller holds control.
func (ep *EP) awaitEnd() {
	c := &ep.connection
	for start := time.Now(); ep.connectEVD != nil && !c.ended.Load(); time.Sleep(time.Millisecond) {
		ep.queue.reap()
		if c.over.Load() || time.Since(start) > endWithin {
			return
		}
	}
}

// endWithin is far longer than a thread of the library takes from the one to the other.
var endWithin = 5 * time.Second // longer in tests
