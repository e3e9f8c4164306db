package udat

import "github.com/goudat/goudat/cgo"

// The library says nothing of a suppressed operation that succeeds, and counts
// it as outstanding until a later one completes: a queue full of them takes no
// more forever, and nobody knows when the last ones are done. So now and then
// the binding has one reported, and keeps that from the program.

// suppress decides whether a suppressed operation is reported to the binding. It
// returns the native cookie and flags to post it with. iov has its segments. The
// caller holds mu.
func (d *direction) suppress(native uint64, flags CompletionFlags, iov []cgo.LMRTriplet) (uint64, CompletionFlags) {
	if flags&CompletionSuppress == 0 {
		d.suppressed = 0
		return native, flags
	}
	if d.needsOwnCompletion(iov) {
		return d.hide(native), flags &^ CompletionSuppress
	}
	d.suppressed++
	if d.suppressed < d.suppressedLimit {
		d.last().success = toNobody
		return native, flags
	}
	return d.hide(native), flags &^ CompletionSuppress
}

// hide has the success of the operation that was recorded last reported to the
// binding alone, and returns its native cookie for that.
func (d *direction) hide(native uint64) uint64 {
	d.last().success = toBinding
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

// report posts a write of no bytes behind the suppressed operations at the end of the
// queue, which tells the binding when they are done: see opReport. Operations complete
// in order. Those that fail, or that the end of the connection flushes, complete even if
// they are suppressed. So when the write completes, in whatever way, the operations
// before it that have not completed have succeeded. report does nothing while posts are
// paused. It returns false if there is no room for the write yet. The caller holds mu.
func (d *direction) report() bool { return d.handle == 0 || d.reportOn(d.handle) }

func (d *direction) reportOn(handle cgo.EPHandle) bool {
	if d.suppressed == 0 || d.settled() || d.broken {
		return true
	}
	if d.outstanding() >= d.limit || d.counting && !d.evd.room.Take(1) {
		return false
	}
	d.regions = d.regions[:0]
	native := d.hide(d.record(opReport, 0))
	r := cgo.EPPostRDMAWrite(handle, nil, native, &cgo.RMRTriplet{}, cgo.CompletionDefault)
	if !r.OK() {
		d.withdraw()
		d.broken = r.Type() != cgo.InvalidState
	}
	return true
}
