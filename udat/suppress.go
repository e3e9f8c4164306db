package udat

import (
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
)

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
// before it that have not completed have succeeded. report returns false if the write is
// needed and cannot be posted now: posts are paused, the queue has no place, the library's
// part of the EVD has no room, or the library refuses it. The caller holds mu.
func (d *direction) report() bool { return d.reportOn(d.handle) }

func (d *direction) reportOn(handle cgo.EPHandle) bool {
	switch {
	case d.suppressed == 0 || d.settled():
		return true
	case handle == 0 || d.outstanding() >= d.limit:
		return false
	case d.counting && !d.evd.room.TakeNative(1):
		return false
	}
	d.regions = d.regions[:0]
	native := d.hide(d.record(opReport, 0))
	if r := cgo.EPPostRDMAWrite(handle, nil, native, &cgo.RMRTriplet{}, cgo.CompletionDefault); !r.OK() {
		d.withdraw()
		return false
	}
	return true
}

// awaitOutcome waits until completions were recorded, or stop is closed. Before that it
// calls report, which is one of those above: see awaitReport. known is whether completions
// are to come: it is false if only suppressed operations are outstanding that could not be
// reported. The caller must not hold mu.
func (d *direction) awaitOutcome(op string, report func() bool, stop <-chan struct{}) (known bool, err error) {
	d.mu.Lock()
	reported := report()
	known = reported || d.outstanding() > d.suppressed
	d.mu.Unlock()
	return known, d.awaitReport(op, reported, d.settled, stop)
}

// awaitReport is EVD.await after a report. If that has returned false, awaitReport returns
// nil soon, so that the caller tries again.
func (d *direction) awaitReport(op string, reported bool, done func() bool, stop <-chan struct{}) error {
	if reported {
		return d.evd.await(op, done, stop)
	}
	var over atomic.Bool
	again := time.AfterFunc(reportAgainAfter, func() {
		over.Store(true)
		d.evd.waiters.tellObservers()
	})
	defer again.Stop()
	return d.evd.await(op, func() bool { return over.Load() || done() }, stop)
}

// reportAgainAfter is how long a report that could not be posted is left before the next
// attempt.
const reportAgainAfter = 10 * time.Millisecond
