package udat

import (
	"os"

	"github.com/goudat/goudat/cgo"
)

// On iWARP the end of a connection flushes the requests that are posted by then. The
// adapter accepts requests that are posted later, and never completes them. Soft-iWARP
// refuses a request while it flushes, but keeps it in its queue even so. So the binding
// completes such requests itself: at once if no request is outstanding before them, or
// else once those before them are settled, or have had the time for that. To know of the
// end, it takes connection events from the library when they come, and does not wait
// until the program asks for them.

// completesAtEnd records an operation that completes with the end of the connection, and
// reports false for any other. The caller holds mu.
func (d *direction) completesAtEnd(op operation, cookie uint64) bool {
	if !d.iwarp || op == opReceive || !d.n.connection.Phase().Ending() {
		return false
	}
	d.record(op, cookie)
	return true
}

// refusedAtEnd reports whether the library has refused a request because the connection
// is ending, although it has not reported the end yet. The request completes with the
// end, and soft-iWARP may even flush it. The caller holds mu.
func (d *direction) refusedAtEnd(r cgo.Return) bool {
	if !d.iwarp || d != &d.n.request || ReturnType(r.Type()) != ErrInternalError {
		return false
	}
	d.n.limitBroken()
	return true
}

// reportAborted delivers the event of an attempt that was aborted. On iWARP the native
// endpoint can stay until it is reset or freed, which waits for the peer's answer.
func (n *nativeEP) reportAborted() {
	if n.takeControl("dat_ep_connect") {
		defer n.ep.control.Unlock()
		n.report()
	}
}

// readFlags are the flags to post an RDMA read with. Reads are done in order on
// iWARP, so that there is nothing to fence: soft-iWARP takes a fenced one for an
// error, and nothing behind it.
func (d *direction) readFlags(flags CompletionFlags) CompletionFlags {
	if d.iwarp {
		flags &^= CompletionBarrierFence
	}
	return flags
}

// needsOwnCompletion reports whether the request that was recorded last, with the segments
// iov, may still be under way when a later one has completed. On iWARP an RDMA read
// completes in an order of its own: see completionOrder. The kernel's soft-iWARP sends a
// page or more straight from the program's memory if the completion is suppressed, and may
// still do so when a later request has completed. The caller holds mu.
func (d *direction) needsOwnCompletion(iov []cgo.LMRTriplet) bool {
	if d.order.early == nil {
		return false
	}
	total := uint64(0)
	for i := range iov {
		total += uint64(iov[i].SegmentLength)
	}
	return d.last().op == opRDMARead || total >= pageSize
}

var pageSize = uint64(os.Getpagesize())

// misread reports whether the kernel's soft-iWARP returns wrong bytes for an RDMA read. If
// few bytes are on two pages of the peer's memory, it copies as many from the first page
// as are on the second (siw_try_1seg).
func (d *direction) misread(total uint64, remote *RMRTriplet) bool {
	const page = 4096 // the peer's are not smaller
	return d.iwarp && d.n.ep.ia.software && total <= mostMisread && remote.VirtualAddress%page+total > page
}

const mostMisread = 32
