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
// It does nothing in DISCONNECTED, and fails with ErrInvalidState in
// UNCONNECTED and in the other states before a connection.
//
// Implements:
//
//	DAT_RETURN dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle,
//	                             IN DAT_CLOSE_FLAGS disconnect_flags)
func (ep *EP) Disconnect(flags CloseFlags) error {
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
	switch state {
	case EPStateDisconnected:
		return nil
	case EPStateUnconnected, EPStateReserved, EPStatePassiveConnectionPending, EPStateTentativeConnectionPending:
		return refuse(op, ErrInvalidState, stateSubtype(state), "the endpoint is in the state %v, it has no connection", state)
	case EPStateDisconnectPending:
		if flags == CloseGraceful {
			return nil
		}
		ep.connection.stopDraining()
	case EPStateConnected:
		if flags == CloseGraceful && ep.startDraining() {
			return nil
		}
	}
	return check(op, ep.disconnectAbruptly())
}

// disconnectAbruptly ends the connection with nothing posted meanwhile. The
// caller holds control.
func (ep *EP) disconnectAbruptly() Return {
	ep.lockDirections()
	defer ep.unlockDirections()
	return ep.disconnectNative()
}

// disconnectNative ends the connection in the library, which does not return
// until it has seen all posted receives flushed. It waits for ever for one that
// was posted while the peer disconnected: the adapter may have done its flushing
// by then. The caller holds control and both directions.
func (ep *EP) disconnectNative() Return {
	returned, rescued := make(chan struct{}), make(chan bool)
	go func() { rescued <- ep.rescueDisconnect(returned) }()
	r := cgo.EPDisconnect(ep.handle, cgo.CloseAbrupt)
	close(returned)
	if <-rescued {
		// A reset takes the receives from the adapter. It also makes the native
		// endpoint unconnected, which the program must not see.
		ep.connection.rescued.Store(true)
		cgo.EPReset(ep.handle)
		ep.flushReceives()
	}
	return r
}

// flushReceives completes the receives that the library has lost.
func (ep *EP) flushReceives() {
	if ep.recvEVD == nil {
		return
	}
	ep.recvEVD.reap()
	for _, event := range ep.recv.flush(ep) {
		ep.recvEVD.add(event)
	}
}

// settleRequests waits until the requests of a disconnected endpoint have
// completed. The library destroys an endpoint without that, and reads its
// memory when the completions come. Suppressed requests at the end may have
// succeeded without a word, so that the waiting has a bound. The caller holds
// control and both directions.
func (ep *EP) settleRequests(op string) {
	if ep.request.outstanding() == 0 {
		return
	}
	bound := make(chan struct{})
	timer := time.AfterFunc(settleWithin, func() { close(bound) })
	defer timer.Stop()
	for ep.requestEVD.reap(); ep.request.outstanding() > 0; ep.requestEVD.reap() {
		if ep.requestEVD.await(op, bound, nil) != nil {
			return
		}
	}
}

// settleWithin is far longer than an adapter takes to flush its requests, and
// short enough for a program that ends with suppressed ones.
const settleWithin = 250 * time.Millisecond

// rescueAfter is longer than any disconnect takes that is not stuck.
const rescueAfter = time.Second

// rescueDisconnect gets the library out of a disconnect that is stuck. A receive
// that the verbs layer refuses makes it forget those that it waits for.
func (ep *EP) rescueDisconnect(returned <-chan struct{}) bool {
	timer := time.NewTimer(rescueAfter)
	defer timer.Stop()
	select {
	case <-returned:
		return false
	case <-timer.C:
	}
	const more = 1024 // segments than any adapter takes
	cgo.EPPostRecv(ep.handle, make([]cgo.LMRTriplet, more), maxEndpointNumber<<endpointShift, 0)
	return true
}

// startDraining lets no more requests in and has those that are outstanding
// completed. It reports false when there are none. The caller holds control.
func (ep *EP) startDraining() bool {
	c := &ep.connection
	ep.request.mu.Lock()
	ep.request.closed = true
	ep.request.mu.Unlock()
	if ep.request.outstanding() > 0 {
		ep.requestEVD.reap()
	}
	if ep.request.outstanding() == 0 {
		return false
	}
	c.stop = make(chan struct{})
	c.draining.Store(true)
	go ep.drain(c.stop, ep.requestEVD)
	return true
}

// stopDraining ends the graceful part of a disconnect. The caller holds control.
func (c *connection) stopDraining() {
	if c.draining.Swap(false) {
		close(c.stop)
	}
}

// idleReached says that no request is outstanding any more. The caller holds
// the lock of the request EVD.
func (ep *EP) idleReached() {
	if !ep.connection.draining.Load() {
		return
	}
	select {
	case ep.connection.idle <- struct{}{}:
	default:
	}
}

// drain disconnects once the requests have completed, with success or not. The
// program may take the completions as they come; those that it does not take
// are kept for it on the EVD.
func (ep *EP) drain(stop <-chan struct{}, evd *EVD) {
	const op = "dat_ep_disconnect"
	for ep.request.outstanding() > 0 {
		if err := evd.await(op, stop, ep.connection.idle); err != nil {
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
	case <-stop: // somebody was faster
		return
	default:
	}
	if ep.obj.enter(op, InvalidHandleEP) != nil {
		return
	}
	defer ep.obj.leave()
	ep.connection.stopDraining()
	// Should it fail, the connection has ended already.
	ep.disconnectAbruptly()
}

// Reset makes a disconnected endpoint unconnected again, with the same
// attributes, so that it can connect or accept once more. Receives that are
// still posted complete with DTOErrFlushed. It does nothing in UNCONNECTED, and
// fails with ErrInvalidState in any other state.
//
// The native endpoint is replaced: the library's own reset loses receives, and
// an endpoint that was accepted on writes to freed memory when it connects.
//
// Implements:
//
//	DAT_RETURN dat_ep_reset(IN DAT_EP_HANDLE ep_handle)
func (ep *EP) Reset() error {
	const op = "dat_ep_reset"
	if ep == nil {
		return ep.object().enter(op, InvalidHandleEP)
	}
	ep.control.Lock()
	defer ep.control.Unlock()
	if err := ep.obj.enter(op, InvalidHandleEP); err != nil {
		return err
	}
	state, err := ep.state(op)
	ep.obj.leave()
	switch {
	case err != nil:
		return err
	case state == EPStateUnconnected:
		return nil
	case state != EPStateDisconnected:
		return refuse(op, ErrInvalidState, stateSubtype(state), "the endpoint is in the state %v, it must be in %v", state, EPStateDisconnected)
	}
	return ep.renew(op, ep.parts())
}
