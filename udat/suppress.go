package udat

import "github.com/goudat/goudat/cgo"

// The library says nothing of a suppressed operation that succeeds, and counts
// it as outstanding until a later one completes: a queue full of them takes no
// more for ever, and nobody knows when the last ones are done. So now and then
// the binding has one reported, and keeps that from the program.

// suppress decides whether a suppressed operation is reported to the binding. It
// gives the native cookie and flags to post it with. The caller holds mu.
func (d *direction) suppress(native uint64, flags CompletionFlags) (uint64, CompletionFlags) {
	if flags&CompletionSuppress == 0 {
		d.suppressed = 0
		return native, flags
	}
	d.suppressed++
	if d.suppressed < d.limit/4 {
		return native, flags
	}
	return d.hide(native), flags &^ CompletionSuppress
}

// hide marks the cookie of an operation that is reported to the binding alone.
func (d *direction) hide(native uint64) uint64 {
	d.suppressed = 0
	d.hidden.Add(1)
	return native | hiddenBit
}

// reclaim makes room in a full queue when suppressed operations are in it. The
// caller holds mu.
func (d *direction) reclaim() bool {
	if d.hidden.Load() == 0 {
		return false
	}
	d.evd.reap()
	return d.outstanding() < d.limit
}

// reportSuppressed has the binding told when the suppressed operations at the
// end of the queue have completed, by a write of no bytes behind them.
func (ep *EP) reportSuppressed() {
	d := &ep.request
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.suppressed == 0 || d.handle == 0 || d.outstanding() >= d.limit {
		return
	}
	d.regions = d.regions[:0]
	native := d.hide(d.record(opRDMAWrite, 0))
	if !cgo.EPPostRDMAWrite(d.handle, nil, native, &RMRTriplet{}, CompletionDefault).OK() {
		// The connection has gone, and with it all that is outstanding.
		d.withdraw(native)
	}
}
