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
	done   chan struct{}
	status Status
	err    error
}

func newRequest() *Request { return &Request{done: make(chan struct{})} }

// complete ends the request. It is called once.
func (r *Request) complete(status Status, err error) {
	r.status, r.err = status, err
	close(r.done)
}

// Wait waits until the operation is done. A send is done when its memory may be
// used again, which says nothing of the receiver. The status has a meaning for
// receives only.
func (r *Request) Wait() (Status, error) {
	<-r.done
	return r.status, r.err
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
