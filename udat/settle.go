package udat

import "time"

// The requests of an endpoint are settled when the outcome of each is known: the
// library has completed it, or it is suppressed and a later one has completed, so
// that it has succeeded. Until then the adapter may use its memory, and nobody may
// say that it has failed.

// settleWithin is far longer than an adapter takes to flush its requests, or the
// library to work on an answer, and short enough for a program that ends.
var settleWithin = 250 * time.Millisecond // longer in tests

// settleRequests waits, for so long, until the requests of an endpoint whose
// connection the library has ended are settled. The library destroys an endpoint
// without that, and reads its memory when the completions come. The caller holds
// control and both directions.
func (ep *EP) settleRequests() {
	const op = "dat_ep_disconnect"
	d := &ep.request
	if d.settled() {
		return
	}
	ep.rest()
	defer ep.wake()
	bound, stop := after(settleWithin)
	defer stop()
	for d.evd.reap(); !d.settled(); d.evd.reap() {
		d.report()
		if d.evd.await(op, d.settled, bound) != nil || isClosed(bound) {
			return
		}
	}
}

// after returns a channel that is closed after a time, unless stop is called.
func after(d time.Duration) (over <-chan struct{}, stop func() bool) {
	c := make(chan struct{})
	return c, time.AfterFunc(d, func() { close(c) }).Stop
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// holdEnd keeps the event of the end of a connection until the requests are
// settled, so that none of them completes after it. It reports false when they are
// settled already. The caller holds the lock of the queue that it came to.
func (ep *EP) holdEnd(event *Event) bool {
	if ep.request.settled() {
		return false
	}
	held := *event
	ep.connection.held.Store(&held)
	go ep.releaseEnd()
	return true
}

// releaseEnd settles the requests of a connection that has ended and reports the
// end, unless another call has done so.
func (ep *EP) releaseEnd() {
	const op = "dat_ep_disconnect"
	ep.control.Lock()
	defer ep.control.Unlock()
	if ep.connection.held.Load() == nil || ep.obj.enter(op, InvalidHandleEP) != nil {
		return
	}
	ep.lockDirections()
	ep.settleRequests()
	lost := ep.ia.iwarp && !ep.request.settled()
	ep.unlockDirections()
	ep.obj.leave() // it stays alive: Free takes control
	defer ep.recount()
	if lost && ep.renew(op, ep.parts(), EPStateDisconnected, earlyKept) == nil {
		return // with the end reported
	}
	ep.reportEnd()
}

// reportEnd gives the program the event of the end of the connection if that was
// held. The caller holds control.
func (ep *EP) reportEnd() {
	if event := ep.connection.held.Swap(nil); event != nil {
		event.Number = ep.connection.endedBy(event.Number)
		ep.shadow.event(event.Number)
		ep.connectEVD.add(*event)
	}
}

// notice updates what is known of suppressed requests without waiting: a call asks,
// and a later one finds the answer.
func (ep *EP) notice() {
	d := &ep.request
	if d.settled() || !d.mu.TryLock() {
		return
	}
	defer d.mu.Unlock()
	if d.hidden.Load() == 0 {
		d.report()
	}
	if d.hidden.Load() > 0 && d.evd.mu.TryLock() {
		defer d.evd.unlock()
		d.evd.drain()
	}
}
