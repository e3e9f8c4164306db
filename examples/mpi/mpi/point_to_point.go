package mpi

import (
	"errors"
	"math"

	"github.com/goudat/goudat/udat"
)

const (
	// MaxTag is the highest tag of a message; the lowest is 0.
	MaxTag = math.MaxInt32
	// maxBytes is the most that a message may have, as an RMRTriplet can name it.
	maxBytes = math.MaxUint32
)

// Send sends the numbers to rank dest. It returns when they may be changed,
// which may be before they are received; for long messages it is not.
func Send[T Number](c *Comm, numbers []T, dest, tag int) error {
	_, err := Isend(c, numbers, dest, tag).Wait()
	return err
}

// Recv receives a message from rank source, or AnySource, with a tag, or AnyTag.
// A message may have fewer numbers than there is room for, see Status.Count. With
// more it fails with ErrTruncated, and with ErrType for numbers of another kind.
func Recv[T Number](c *Comm, numbers []T, source, tag int) (Status, error) {
	return Irecv(c, numbers, source, tag).Wait()
}

// Isend begins a Send, and does not wait. The numbers must not change until the
// request is done.
func Isend[T Number](c *Comm, numbers []T, dest, tag int) *Request {
	if err := c.checkSend(dest, tag, len(numbers)); err != nil {
		return failedRequest(err)
	}
	return c.isend(c.userContext(), dataOf(numbers), dest, tag)
}

// Irecv begins a Recv, and does not wait. Receives take messages in the order in
// which they were begun.
func Irecv[T Number](c *Comm, numbers []T, source, tag int) *Request {
	if err := c.checkReceive(source, tag); err != nil {
		return failedRequest(err)
	}
	return c.irecv(c.userContext(), dataOf(numbers), source, tag)
}

// Sendrecv sends a message and receives one, at the same time. The two slices
// must not overlap.
func Sendrecv[S, R Number](c *Comm, send []S, dest, sendTag int, receive []R, source, receiveTag int) (Status, error) {
	incoming := Irecv(c, receive, source, receiveTag)
	outgoing := Isend(c, send, dest, sendTag)
	_, err := outgoing.Wait()
	status, err2 := incoming.Wait()
	if err == nil {
		err = err2
	}
	return status, err
}

// Probe waits until a message is there that a Recv with the same source and tag
// would get, and describes it.
func Probe(c *Comm, source, tag int) (Status, error) {
	if err := c.checkReceive(source, tag); err != nil {
		return Status{}, err
	}
	var status Status
	err := c.world.await(func() (there bool) {
		status, there = c.probe(source, tag)
		return there
	})
	return status, err
}

// Iprobe is Probe that does not wait. It tells whether there is a message.
func Iprobe(c *Comm, source, tag int) (Status, bool, error) {
	if err := c.checkReceive(source, tag); err != nil {
		return Status{}, false, err
	}
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return Status{}, false, w.err
	}
	status, there := c.probe(source, tag)
	return status, there, nil
}

func failedRequest(err error) *Request {
	r := newRequest()
	r.complete(Status{}, err)
	return r
}

func (c *Comm) checkSend(dest, tag, count int) error {
	switch {
	case dest < 0 || dest >= c.Size():
		return badArgument("the destination is %d, it must be 0 to %d", dest, c.Size()-1)
	case tag < 0 || tag > MaxTag:
		return badArgument("the tag is %d, it must be 0 to %d", tag, MaxTag)
	}
	return nil
}

func (c *Comm) checkReceive(source, tag int) error {
	switch {
	case source != AnySource && (source < 0 || source >= c.Size()):
		return badArgument("the source is %d, it must be 0 to %d, or AnySource", source, c.Size()-1)
	case tag != AnyTag && (tag < 0 || tag > MaxTag):
		return badArgument("the tag is %d, it must be 0 to %d, or AnyTag", tag, MaxTag)
	}
	return nil
}

// envelope gives that of a receive, for whose source the world has another number.
func (c *Comm) envelope(context uint32, source, tag int) envelope {
	if source != AnySource {
		source = c.group[source]
	}
	return envelope{context, source, tag}
}

// probe needs mu.
func (c *Comm) probe(source, tag int) (Status, bool) {
	if m := c.world.matcher.probe(c.envelope(c.userContext(), source, tag)); m != nil {
		return c.status(m), true
	}
	return Status{}, false
}

func (c *Comm) isend(context uint32, numbers data, dest, tag int) *Request {
	w, to := c.world, c.group[dest]
	if len(numbers.bytes) > maxBytes {
		return failedRequest(badArgument("a message of %d bytes, it must be no more than %d", len(numbers.bytes), maxBytes))
	}
	o := &outgoing{
		header:  header{kind: eagerMessage, element: numbers.kind, context: context, tag: int32(tag), length: uint32(len(numbers.bytes))},
		payload: numbers.bytes,
		request: newRequest(),
	}
	if len(numbers.bytes) > eagerLimit && to != w.rank {
		if err := o.expose(w.pz, numbers.bytes); err != nil {
			return failedRequest(err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		o.abandon(w.err)
	case to == w.rank:
		// A message to oneself is kept as a copy, so that its sender need not wait for a receive.
		w.arrive(&message{envelope: envelope{context, w.rank, tag}, element: numbers.kind, length: len(numbers.bytes), payload: numbers.bytes})
		o.request.complete(Status{}, nil)
	default:
		w.peers[to].send(o)
	}
	return o.request
}

// expose makes the message an offer.
func (o *outgoing) expose(pz *udat.PZ, memory []byte) error {
	var err error
	if o.region, err = udat.RegisterMemory(pz, memory, udat.MemPrivLocalRead|udat.MemPrivRemoteRead); err != nil {
		return err
	}
	o.header.kind, o.payload = offerMessage, nil
	if o.header.memory, err = o.region.RMRTriplet(0, len(memory)); err != nil {
		return errors.Join(err, o.region.Free())
	}
	return nil
}

func (c *Comm) irecv(context uint32, numbers data, source, tag int) *Request {
	w := c.world
	r := &receive{comm: c, envelope: c.envelope(context, source, tag), buffer: numbers, request: newRequest()}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		r.request.complete(Status{}, w.err)
		return r.request
	}
	if m := w.matcher.post(r); m != nil {
		w.deliver(r, m)
	}
	return r.request
}
