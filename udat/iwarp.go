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
func (d *direction) keeps(kind operation, cookie uint64) bool {
	if !d.ep.ia.iwarp || kind == opReceive || !d.ep.connection.ending() {
		return false
	}
	d.record(kind, cookie)
	return true
}

// refusedAtEnd reports whether the library has refused a request since the
// connection is ending, of which it has not said so yet. The request completes
// with the end, and soft-iWARP may even flush it. The caller holds mu.
func (d *direction) refusedAtEnd(r cgo.Return) bool {
	if d.ep == nil || !d.ep.ia.iwarp || d != &d.ep.request || ReturnType(r.Type()) != ErrInternalError {
		return false
	}
	d.ep.limitBroken()
	return true
}

// ending reports whether the connection has ended, or is about to.
func (c *connection) ending() bool { return c.over.Load() || c.leaving.Load() }

// readFlags are the flags to post an RDMA read with. Reads are done in order on
// iWARP, so that there is nothing to fence: soft-iWARP takes a fenced one for an
// error, and nothing behind it.
func (ep *EP) readFlags(flags CompletionFlags) CompletionFlags {
	if ep.ia.iwarp {
		flags &^= CompletionBarrierFence
	}
	return flags
}
