package udat

import (
	"time"
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
func (ep *EP) broken() {
	c := &ep.connection
	// With a shared receive queue it may only be that the last receive of a
	// connection that ends has been taken.
	if ep.srq == nil && !c.leaving.Load() && !c.over.Load() {
		c.failed.Store(true)
	}
	ep.limitBroken()
}

// limitBroken has a connection ended that is broken, or may be, unless somebody else
// does.
func (ep *EP) limitBroken() {
	c := &ep.connection
	if c.breaking.Load() != nil {
		return
	}
	attempt := c.attempt.Load()
	c.breaking.Store(time.AfterFunc(brokenWithin, func() { ep.endBroken(attempt) }))
}

// endBroken ends a connection that is broken, unless somebody else has.
func (ep *EP) endBroken(attempt uint64) {
	if ep.breakOffBroken(attempt) {
		ep.fail()
	}
}

// breakOffBroken reports true when the library cannot end the connection. No
// completion of a request is to come then.
func (ep *EP) breakOffBroken(attempt uint64) (forgotten bool) {
	const op = "dat_ep_disconnect"
	ep.control.Lock()
	defer ep.control.Unlock()
	c := &ep.connection
	if c.attempt.Load() != attempt || ep.obj.enter(op, InvalidHandleEP) != nil {
		return false
	}
	defer ep.obj.leave()
	state, r := nativeState(ep.handle)
	ep.queue.reap()
	if !r.OK() || !c.established.Load() || c.over.Load() {
		return false
	}
	c.failed.Store(true)
	if state == EPStateConnected {
		call := ep.shadow.begin(callDisconnectAbrupt)
		err := check(op, ep.breakOff())
		call.end(&err)
		return false
	}
	if state != EPStateDisconnected || c.over.Swap(true) {
		return false
	}
	c.failure.Store(&Event{Number: EventConnectionBroken, ep: ep})
	ep.lockDirections()
	defer ep.unlockDirections()
	ep.settleRequests()
	return true
}

// operationFailed notes that the library has reported an operation that failed. It
// ends the connection by itself unless that was flushed. Operations are flushed when
// a connection ends; but soft-RoCE of Linux 6.12 and 7.3 also flushes one that fails
// on this side before anything of it is sent, and everything after it. The queue pair
// then takes nothing more, and nobody is told.
func (ep *EP) operationFailed(status DTOStatus) {
	c := &ep.connection
	switch {
	case c.leaving.Load() || c.over.Load():
	case status != DTOErrFlushed:
		c.failed.Store(true)
	default:
		ep.limitBroken()
	}
}

// endedBy is the event that says how the connection ended, given the one that has
// come first: the peer learns of a failure, too, and may be faster.
func (c *connection) endedBy(first EventNumber) EventNumber {
	if c.failed.Load() {
		return EventConnectionBroken
	}
	return first
}
