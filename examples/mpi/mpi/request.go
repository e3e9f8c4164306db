package mpi

import (
	"errors"
	"slices"
)

// Status describes a message that was received or probed.
type Status struct {
	Source int // rank in the communicator
	Tag    int
	// Count is how many numbers the message has, also when the buffer was shorter.
	Count int
}

// Request is a send, a receive, or a collective operation that may be in progress. Its memory must be
// left alone until Wait gives the outcome. Wait may be called from several
// goroutines and more than once.
type Request struct {
	world  *World
	done   bool
	status Status
	err    error

	receive  *receive  // of a receive of the program
	outgoing *outgoing // of a send that waits
	schedule *schedule // whose message it is, if any
	want     int       // numbers that the message must have, -1 if that does not matter
}

// request makes one. The caller holds mu.
func (w *World) request() *Request {
	w.pending++
	return &Request{world: w, want: -1}
}

// complete ends the request. It is called once. The caller holds mu.
func (r *Request) complete(status Status, err error) {
	r.status, r.err, r.done = status, err, true
	r.world.pending--
	if r.schedule != nil {
		r.schedule.passed(r)
		return
	}
	r.world.stir()
}

// endedRequest is one that was done at once, or could not begin.
func (w *World) endedRequest(err error) *Request { return &Request{world: w, done: true, err: err} }

// ErrCancelled says that a request was cancelled.
var ErrCancelled = errors.New("mpi: the request was cancelled")

// Cancel ends a receive that has no message yet, or a send that has not begun, as
// it waits for others before it. Then it reports true, and Wait fails with
// ErrCancelled. What cannot be ended goes on.
func (r *Request) Cancel() bool {
	w := r.world
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case r.done:
		return false
	case r.receive != nil && w.matcher.withdraw(r.receive):
	case r.outgoing != nil && r.outgoing.to.withdraw(r.outgoing):
	default:
		return false
	}
	err := ErrCancelled
	if r.outgoing != nil {
		err = errors.Join(err, r.outgoing.region.release())
	}
	r.complete(Status{}, err)
	return true
}

// withdraw takes a message out of the queue, and reports whether it was there.
func (p *peer) withdraw(o *outgoing) bool {
	i := slices.Index(p.queue, o)
	if i < 0 {
		return false
	}
	p.queue = slices.Delete(p.queue, i, i+1)
	return true
}

// Test reports whether the operation is done, and does not wait. If it is, the
// outcome is that of Wait.
func (r *Request) Test() (status Status, done bool, err error) {
	w := r.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.done {
		w.glance()
	}
	return r.status, r.done, r.err
}

// Wait waits until the operation is done. A send is done when its memory may be
// used again, which says nothing of the receiver. The status has a meaning for
// receives only.
func (r *Request) Wait() (Status, error) {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	return r.wait()
}

// wait is Wait for who holds mu.
func (r *Request) wait() (Status, error) {
	if !r.done {
		r.world.waitUntil(func() bool { return r.done })
	}
	return r.status, r.err
}

// waitUntil waits for what comes true at the end of the world, too.
func (w *World) waitUntil(something func() bool) {
	for !something() {
		if w.await(something) != nil && !something() {
			w.changed.Wait() // the adapter lets go of memory
		}
	}
}

// Waitany waits until one of the requests is done, and returns its place among
// them and its outcome. It passes over nil, and returns -1 if there is nothing else.
func Waitany(requests ...*Request) (int, Status, error) {
	first := slices.IndexFunc(requests, func(r *Request) bool { return r != nil })
	if first < 0 {
		return -1, Status{}, nil
	}
	w := requests[first].world
	w.mu.Lock()
	defer w.mu.Unlock()
	found := -1
	w.waitUntil(func() bool {
		found = slices.IndexFunc(requests, func(r *Request) bool { return r != nil && r.done })
		return found >= 0
	})
	return found, requests[found].status, requests[found].err
}

// Waitall waits for all requests. The error is that of the first that failed.
func Waitall(requests ...*Request) ([]Status, error) {
	statuses := make([]Status, len(requests))
	var first error
	for i, r := range requests {
		status, err := r.Wait()
		statuses[i] = status
		if first == nil {
			first = err
		}
	}
	return statuses, first
}
