package mpi

// Status describes a message that was received or probed.
type Status struct {
	Source int // rank in the communicator
	Tag    int
	// Count is how many numbers the message has, also when the buffer was shorter.
	Count int
}

// Request is a send or a receive that may be in progress. Its memory must be
// left alone until Wait gives the outcome. Wait may be called from several
// goroutines and more than once.
type Request struct {
	world  *World
	done   bool
	status Status
	err    error
}

// request makes one. The caller holds mu.
func (w *World) request() *Request {
	w.pending++
	return &Request{world: w}
}

// complete ends the request. It is called once. The caller holds mu.
func (r *Request) complete(status Status, err error) {
	r.status, r.err, r.done = status, err, true
	r.world.pending--
	r.world.stir()
}

// failedRequest is one that could not begin.
func (w *World) failedRequest(err error) *Request { return &Request{world: w, done: true, err: err} }

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
		r.world.finish(r)
	}
	return r.status, r.err
}

// finish waits until a request is done, which it is at the end of the world, too.
func (w *World) finish(r *Request) {
	for !r.done {
		if w.await(func() bool { return r.done }) != nil && !r.done {
			w.changed.Wait() // the adapter lets go of its memory
		}
	}
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
