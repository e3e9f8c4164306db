package mpi

import (
	"cmp"
	"math"
)

const (
	// MaxTag is the highest tag of a message; the lowest is 0.
	MaxTag = math.MaxInt32
	// maxBytes is how many bytes a message may have, as an RMRTriplet can describe them.
	maxBytes = math.MaxUint32
)

// Status describes a message that was received or probed.
type Status struct {
	Source int // rank
	Tag    int
	// Count is how many numbers the message has, even if the buffer was shorter.
	Count int
}

// statusOf describes a message to the program.
func statusOf(element elementKind, length, source, tag int) Status {
	return Status{Source: source, Tag: tag, Count: length / max(element.size(), 1)}
}

// Request is a send or a receive that may be under way. The program must not touch its memory until Wait returns. Wait
// may be called more than once, and from several goroutines.
type Request struct {
	world  *World
	done   bool
	status Status
	err    error
}

// request returns a new Request. The caller holds mu.
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

// Test reports, without waiting, whether the operation is done. If it is, Test returns what Wait does.
func (r *Request) Test() (status Status, done bool, err error) {
	done = r.world.glance(func() bool {
		status, err = r.status, r.err
		return r.done
	})
	return status, done, err
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
	w := r.world
	for !r.done {
		if w.await(func() bool { return r.done }) != nil && !r.done {
			w.changed.Wait() // until the adapter releases the memory
		}
	}
	return r.status, r.err
}

// Waitall waits for all requests. It returns the error of the first request, in their order, that failed.
func Waitall(requests ...*Request) (statuses []Status, first error) {
	for _, r := range requests {
		status, err := r.Wait()
		statuses, first = append(statuses, status), cmp.Or(first, err)
	}
	return statuses, first
}

// Send sends the numbers to rank dest. It returns when they may be changed. For short messages that may be before
// they are received; for long messages it is not.
func Send[T Number](c *Comm, numbers []T, dest, tag int) error {
	_, err := Isend(c, numbers, dest, tag).Wait()
	return err
}

// Recv receives a message from rank source, or from any with AnySource, and with a tag, or any with AnyTag. Messages
// from one rank do not overtake each other. The message may have fewer numbers than the slice; see Status.Count. If it
// has more, Recv fails with ErrTruncated, and for another kind of numbers with ErrType.
func Recv[T Number](c *Comm, numbers []T, source, tag int) (Status, error) {
	return Irecv(c, numbers, source, tag).Wait()
}

// Isend begins a Send and returns its Request. The numbers must not change until the Request is done.
func Isend[T Number](c *Comm, numbers []T, dest, tag int) *Request {
	if err := c.checkSend(dest, tag); err != nil {
		return &Request{world: c.world, done: true, err: err}
	}
	return c.isend(c.userContext(), dataOf(numbers), dest, tag)
}

// Irecv begins a Recv and returns its Request. Receives get messages in the order in which they began.
func Irecv[T Number](c *Comm, numbers []T, source, tag int) *Request {
	if err := c.checkReceive(source, tag); err != nil {
		return &Request{world: c.world, done: true, err: err}
	}
	return c.irecv(c.userContext(), dataOf(numbers), source, tag)
}

// Sendrecv sends one message and receives another at the same time. The two slices must not overlap.
func Sendrecv[S, R Number](c *Comm, send []S, dest, sendTag int, receive []R, source, receiveTag int) (Status, error) {
	incoming := Irecv(c, receive, source, receiveTag)
	_, err := Isend(c, send, dest, sendTag).Wait()
	status, err2 := incoming.Wait()
	return status, cmp.Or(err, err2)
}

// Probe waits until there is a message that a Recv with the same source and tag would get, and describes it.
func Probe(c *Comm, source, tag int) (Status, error) {
	if err := c.checkReceive(source, tag); err != nil {
		return Status{}, err
	}
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	var status Status
	err := w.await(func() (there bool) {
		status, there = c.probe(source, tag)
		return there
	})
	return status, err
}

// Iprobe is Probe without waiting. It reports whether there is a message.
func Iprobe(c *Comm, source, tag int) (Status, bool, error) {
	if err := c.checkReceive(source, tag); err != nil {
		return Status{}, false, err
	}
	var status Status
	var there bool
	var err error
	c.world.glance(func() bool {
		status, there = c.probe(source, tag)
		err = c.world.err
		return there || err != nil
	})
	return status, there, err
}

// probe is Iprobe without looking for new messages. The caller holds mu.
func (c *Comm) probe(source, tag int) (Status, bool) {
	if m := c.world.matcher.probe(envelope{c.userContext(), source, tag}); m != nil {
		return statusOf(m.element, m.length, m.source, m.tag), true
	}
	return Status{}, false
}

func (c *Comm) checkSend(dest, tag int) error {
	switch {
	case dest < 0 || dest >= c.Size():
		return badArgument("the destination is %d; it must be 0 to %d", dest, c.Size()-1)
	case tag < 0 || tag > MaxTag:
		return badArgument("the tag is %d; it must be 0 to %d", tag, MaxTag)
	}
	return nil
}

func (c *Comm) checkReceive(source, tag int) error {
	switch {
	case source != AnySource && (source < 0 || source >= c.Size()):
		return badArgument("the source is %d; it must be 0 to %d, or AnySource", source, c.Size()-1)
	case tag != AnyTag && (tag < 0 || tag > MaxTag):
		return badArgument("the tag is %d; it must be 0 to %d, or AnyTag", tag, MaxTag)
	}
	return nil
}

// isend begins a send and returns its request.
func (c *Comm) isend(context uint32, numbers data, dest, tag int) *Request {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := c.begin(context, numbers, dest, tag)
	if r == nil {
		r = &Request{world: w, done: true, err: err}
	}
	return r
}

// begin begins a send. It returns a nil Request if the send is done or has failed. The caller holds mu.
func (c *Comm) begin(context uint32, numbers data, dest, tag int) (*Request, error) {
	w := c.world
	if len(numbers.bytes) > maxBytes {
		return nil, badArgument("a message of %d bytes; it may have at most %d", len(numbers.bytes), maxBytes)
	}
	if w.err != nil {
		return nil, w.err
	}
	if dest == w.rank {
		// A message to this rank itself is kept as a copy, so that the sender does not wait for a receive.
		w.arrive(nil, message{envelope: envelope{context, w.rank, tag}, element: numbers.kind, length: len(numbers.bytes), payload: numbers.bytes})
		return nil, nil
	}
	h := header{element: numbers.kind, context: context, tag: int32(tag), length: uint32(len(numbers.bytes))}
	p := w.peers[dest]
	done, err := p.start(&h, numbers.bytes)
	if err != nil {
		p.lose(err)
		return nil, w.err
	}
	if done {
		return nil, nil
	}
	o := &outgoing{header: h, memory: numbers.bytes, request: w.request()}
	p.wait(o)
	return o.request, nil
}

// irecv begins a receive and returns its request.
func (c *Comm) irecv(context uint32, numbers data, source, tag int) *Request {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending++
	r := &receive{comm: c, envelope: envelope{context, source, tag}, buffer: numbers, request: Request{world: w}}
	if w.err != nil {
		r.request.complete(Status{}, w.err)
	} else if m := w.matcher.post(r); m != nil {
		w.deliver(r, m)
	}
	return &r.request
}
