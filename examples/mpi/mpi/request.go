package mpi

import (
	"cmp"
	"errors"
	"slices"
)

// Status describes a message that was received or probed.
type Status struct {
	Source int // rank in the communicator
	Tag    int
	// Count is how many numbers the message has, even if the buffer was shorter.
	Count int
}

// Request is a send, a receive, or a collective operation that may be under way. The program must not touch its
// memory until Wait returns. Wait may be called more than once, and from several goroutines.
type Request struct {
	world  *World
	done   bool
	status Status
	err    error

	receive  *receive  // for a receive of the program
	outgoing *outgoing // for a send that waits
	schedule *schedule // for a message of a collective operation
	want     int       // how many numbers the message must have, -1 for any
}

// request returns a new Request. The caller holds mu.
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

// received ends an Ssend of this rank to itself; r is nil for another message.
func (r *Request) received() {
	if r != nil && !r.done {
		r.complete(Status{}, nil)
	}
}

// endedRequest returns a Request that was done at once, or could not begin.
func (w *World) endedRequest(err error) *Request { return &Request{world: w, done: true, err: err} }

// ErrCancelled says that a request was cancelled.
var ErrCancelled = errors.New("mpi: the request was cancelled")

// Cancel ends a receive that has no message yet, or a send that has not begun because it waits for earlier ones. It
// then returns true, and Wait fails with ErrCancelled. Otherwise the operation continues.
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

// withdraw removes a message from the queue, and reports whether it was there.
func (p *peer) withdraw(o *outgoing) bool {
	i := slices.Index(p.queue, o)
	if i < 0 {
		return false
	}
	p.queue = slices.Delete(p.queue, i, i+1)
	return true
}

// Test reports, without waiting, whether the operation is done. If it is, Test returns what Wait does.
func (r *Request) Test() (status Status, done bool, err error) {
	if status, done, err = r.glance(); !done {
		r.world.rest()
	}
	return status, done, err
}

func (r *Request) glance() (status Status, done bool, err error) {
	w := r.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.done {
		w.glance()
	}
	return r.status, r.done, r.err
}

// Wait waits until the operation is done. A send is done when its memory may be used again, which does not mean that
// the message was received. The Status has a meaning for receives only.
func (r *Request) Wait() (Status, error) {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	return r.wait()
}

// wait is Wait for callers that hold mu.
func (r *Request) wait() (Status, error) {
	if !r.done {
		r.world.waitUntil(func() bool { return r.done })
	}
	return r.status, r.err
}

// waitUntil waits for a condition that also becomes true at the end of the world.
func (w *World) waitUntil(something func() bool) {
	for !something() {
		if w.await(something) != nil && !something() {
			w.changed.Wait() // until the adapter releases the memory
		}
	}
}

// Waitany waits until one of the requests is done, and returns its index and its result. It ignores nil requests, and
// returns -1 if there are no others.
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

// Waitsome waits until at least one of the requests is done, and returns the indexes and the results of all that are, and
// the first error. It ignores nil requests, and returns nothing if there are no others.
func Waitsome(requests ...*Request) (done []int, statuses []Status, err error) {
	if first, _, _ := Waitany(requests...); first < 0 {
		return nil, nil, nil
	}
	for i, r := range requests {
		if r == nil {
			continue
		}
		if status, over, failed := r.peek(); over {
			done, statuses, err = append(done, i), append(statuses, status), cmp.Or(err, failed)
		}
	}
	return done, statuses, err
}

// Testany reports, without waiting, whether one of the requests is done, and returns its index and its result, or -1. It
// ignores nil requests.
func Testany(requests ...*Request) (int, Status, error) {
	for i, r := range requests {
		if r == nil {
			continue
		}
		if status, done, err := r.Test(); done {
			return i, status, err
		}
	}
	return -1, Status{}, nil
}

// Testall reports, without waiting, whether all requests are done. If they are, it returns what Waitall does.
func Testall(requests ...*Request) (statuses []Status, done bool, err error) {
	for _, r := range requests {
		if r == nil {
			continue
		}
		if _, done, _ := r.Test(); !done {
			return nil, false, nil
		}
	}
	statuses, err = Waitall(requests...)
	return statuses, true, err
}

// peek is Test without looking for news.
func (r *Request) peek() (status Status, done bool, err error) {
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	return r.status, r.done, r.err
}

// Waitall waits for all requests but nil ones. It returns the error of the first request, in their order, that failed.
func Waitall(requests ...*Request) ([]Status, error) {
	statuses := make([]Status, len(requests))
	var first error
	for i, r := range requests {
		if r == nil {
			continue
		}
		status, err := r.Wait()
		statuses[i], first = status, cmp.Or(first, err)
	}
	return statuses, first
}
