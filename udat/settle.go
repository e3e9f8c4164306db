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
// control, and has paused posts.
func (n *nativeEP) settleRequests() {
	const op = "dat_ep_disconnect"
	d := &n.request
	if d.settled() {
		return
	}
	bound, stop := after(settleWithin)
	defer stop()
	report := func() bool { return d.reportOn(n.handle) } // though posts are paused
	for d.evd.reap(); !d.settled(); d.evd.reap() {
		if _, err := d.awaitOutcome(op, report, bound); err != nil || isClosed(bound) {
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

// releaseEnd settles the requests of a connection that has ended and reports the
// end, unless another call has done so.
func (n *nativeEP) releaseEnd() {
	if !n.takeControl("dat_ep_disconnect") {
		return
	}
	defer n.ep.control.Unlock()
	n.pausePosts()
	n.settleRequests()
	lost := n.ep.ia.iwarp && !n.request.settled()
	n.resumePosts()
	if lost && n.ep.renew("dat_ep_disconnect", n.copyParts(), EPStateDisconnected, reposted) == nil {
		return // with the end reported
	}
	n.report()
}

// notice updates what is known of suppressed requests without waiting: a call asks,
// and a later one finds the answer.
func (n *nativeEP) notice() {
	d := &n.request
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
