package udat

import "github.com/goudat/goudat/cgo"

// On iWARP the end of a connection flushes the requests that are posted by then.
// What is posted later the adapter takes, and never completes; and soft-iWARP
// refuses a request while it flushes, but keeps it in its queue all the same. So
// the binding completes such requests itself: at once where none is outstanding
// before them, and otherwise once those are settled, or were given time to be. For
// that it takes connection events from the library when they come, and does not
// wait until the program asks for them.

// keeps records an operation that completes with the end of the connection, and
// reports false for any other. The caller holds mu.
func (d *direction) keeps(op operation, cookie uint64) bool {
	if !d.iwarp || op == opReceive || !d.n.connection.Phase().Ending() {
		return false
	}
	d.record(op, cookie)
	return true
}

// refusedAtEnd reports whether the library has refused a request since the
// connection is ending, of which it has not said so yet. The request completes
// with the end, and soft-iWARP may even flush it. The caller holds mu.
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
	if n.hold("dat_ep_connect") {
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
