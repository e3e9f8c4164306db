package mpi

import "math"

const (
	// MaxTag is the highest tag of a message; the lowest is 0.
	MaxTag = math.MaxInt32
	// maxBytes is how many bytes a message may have, as an RMRTriplet can describe them.
	maxBytes = math.MaxUint32
)

// Send sends the numbers to rank dest. It returns when they may be changed. For short messages that may be before
// they are received; for long messages it is not.
func Send[T Number](c *Comm, numbers []T, dest, tag int) error {
	if err := c.checkSend(dest, tag); err != nil {
		return err
	}
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := c.begin(nil, c.userContext(), dataOf(numbers), dest, tag)
	if r == nil {
		return err
	}
	_, err = r.wait()
	return err
}

// Recv receives a message from rank source, or from any with AnySource, and with a tag, or any with AnyTag. The
// message may have fewer numbers than the slice; see Status.Count. If it has more, Recv fails with ErrTruncated, and
// for another kind of numbers with ErrType.
func Recv[T Number](c *Comm, numbers []T, source, tag int) (Status, error) {
	if err := c.checkReceive(source, tag); err != nil {
		return Status{}, err
	}
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.receive()
	c.post(r, c.userContext(), dataOf(numbers), source, tag)
	return w.waitAndReuse(r)
}

// Isend begins a Send and returns its Request. The numbers must not change until the Request is done.
func Isend[T Number](c *Comm, numbers []T, dest, tag int) *Request {
	if err := c.checkSend(dest, tag); err != nil {
		return c.world.endedRequest(err)
	}
	return c.isend(c.userContext(), dataOf(numbers), dest, tag)
}

// Ssend is a Send that returns when the message is received, or a receive is taking it.
func Ssend[T Number](c *Comm, numbers []T, dest, tag int) error {
	return Issend(c, numbers, dest, tag).end()
}

// Issend begins an Ssend and returns its Request.
func Issend[T Number](c *Comm, numbers []T, dest, tag int) *Request {
	if err := c.checkSend(dest, tag); err != nil {
		return c.world.endedRequest(err)
	}
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := c.beginSend(nil, true, c.userContext(), dataOf(numbers), dest, tag)
	if r == nil {
		r = w.endedRequest(err)
	}
	return r
}

// Irecv begins a Recv and returns its Request. Receives get messages in the order in which they began.
func Irecv[T Number](c *Comm, numbers []T, source, tag int) *Request {
	if err := c.checkReceive(source, tag); err != nil {
		return c.world.endedRequest(err)
	}
	return c.irecv(c.userContext(), dataOf(numbers), source, tag)
}

// Sendrecv sends one message and receives another at the same time. The two slices must not overlap.
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
	status, there, err := c.glance(source, tag)
	if !there {
		c.world.rest()
	}
	return status, there, err
}

func (c *Comm) glance(source, tag int) (Status, bool, error) {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.glance()
	if w.err != nil {
		return Status{}, false, w.err
	}
	status, there := c.probe(source, tag)
	return status, there, nil
}

// Message is a message that Mprobe has found, and that no other receive gets.
type Message struct {
	comm    *Comm
	message *message // nil for one from ProcNull, and once it was received
	status  Status
}

// Mprobe is a Probe that reserves the message for Mrecv.
func Mprobe(c *Comm, source, tag int) (*Message, Status, error) {
	if err := c.checkReceive(source, tag); err != nil {
		return nil, Status{}, err
	}
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	var m *Message
	if err := w.await(func() bool {
		if m == nil { // await may ask again
			m = c.reserve(source, tag)
		}
		return m != nil
	}); err != nil {
		return nil, Status{}, err
	}
	return m, m.status, nil
}

// Improbe is Mprobe without waiting. It returns nil if there is no message.
func Improbe(c *Comm, source, tag int) (*Message, Status, error) {
	if err := c.checkReceive(source, tag); err != nil {
		return nil, Status{}, err
	}
	m, err := c.glanceAndReserve(source, tag)
	if m == nil {
		c.world.rest()
		return nil, Status{}, err
	}
	return m, m.status, nil
}

func (c *Comm) glanceAndReserve(source, tag int) (*Message, error) {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.glance()
	if w.err != nil {
		return nil, w.err
	}
	return c.reserve(source, tag), nil
}

// reserve takes a message out of the matching, and returns nil if there is none.
func (c *Comm) reserve(source, tag int) *Message {
	status, there := c.probe(source, tag)
	if !there {
		return nil
	}
	m := &Message{comm: c, status: status}
	if source != ProcNull {
		m.message = c.world.matcher.probe(c.envelope(c.userContext(), source, tag))
		c.world.matcher.forget(m.message)
	}
	return m
}

// Mrecv receives a message that Mprobe has returned. It can be received once.
func Mrecv[T Number](m *Message, numbers []T) (Status, error) {
	if m.status.Source == ProcNull {
		return fromNobody, nil
	}
	c, w := m.comm, m.comm.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.message == nil {
		return Status{}, badArgument("the message was received before")
	}
	found := m.message
	m.message = nil
	if w.err != nil {
		return Status{}, w.err
	}
	r := w.receive()
	w.pending++
	r.comm, r.envelope, r.buffer = c, found.envelope, dataOf(numbers)
	r.request = Request{world: w, want: -1, receive: r}
	w.deliver(r, found)
	return w.waitAndReuse(r)
}

func (c *Comm) checkSend(dest, tag int) error {
	switch {
	case c.freed.Load():
		return ErrFreed
	case dest != ProcNull && (dest < 0 || dest >= c.Size()):
		return badArgument("the destination is %d; it must be 0 to %d, or ProcNull", dest, c.Size()-1)
	case tag < 0 || tag > MaxTag:
		return badArgument("the tag is %d; it must be 0 to %d", tag, MaxTag)
	}
	return nil
}

func (c *Comm) checkReceive(source, tag int) error {
	switch {
	case c.freed.Load():
		return ErrFreed
	case source != AnySource && source != ProcNull && (source < 0 || source >= c.Size()):
		return badArgument("the source is %d; it must be 0 to %d, AnySource or ProcNull", source, c.Size()-1)
	case tag != AnyTag && (tag < 0 || tag > MaxTag):
		return badArgument("the tag is %d; it must be 0 to %d, or AnyTag", tag, MaxTag)
	}
	return nil
}

// envelope returns the envelope of a receive, with the source as a rank of the world.
func (c *Comm) envelope(context uint32, source, tag int) envelope {
	if source >= 0 {
		source = c.group[source]
	}
	return envelope{context, source, tag}
}

// fromNobody is the Status of a receive from ProcNull.
var fromNobody = Status{Source: ProcNull, Tag: AnyTag}

// probe is Iprobe without looking for new messages. The caller holds mu.
func (c *Comm) probe(source, tag int) (Status, bool) {
	if source == ProcNull {
		return fromNobody, true
	}
	if m := c.world.matcher.probe(c.envelope(c.userContext(), source, tag)); m != nil {
		return c.status(m.element, m.length, m.source, m.tag), true
	}
	return Status{}, false
}

// isend begins a send and returns its request.
func (c *Comm) isend(context uint32, numbers data, dest, tag int) *Request {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := c.begin(nil, context, numbers, dest, tag)
	if r == nil {
		r = w.endedRequest(err)
	}
	return r
}

// begin begins a send, which is part of a schedule or, with nil, of none. It returns a nil Request if the send is done or
// has failed. The caller holds mu.
func (c *Comm) begin(part *schedule, context uint32, numbers data, dest, tag int) (*Request, error) {
	return c.beginSend(part, false, context, numbers, dest, tag)
}

// beginSend is begin, for a synchronous send, too. Such a message is always offered.
func (c *Comm) beginSend(part *schedule, synchronous bool, context uint32, numbers data, dest, tag int) (*Request, error) {
	w := c.world
	if len(numbers.bytes) > maxBytes {
		return nil, badArgument("a message of %d bytes; it may have at most %d", len(numbers.bytes), maxBytes)
	}
	if w.err != nil || dest == ProcNull {
		return nil, w.err
	}
	to := c.group[dest]
	if to == w.rank {
		// A message to this rank itself is kept as a copy, so that the sender does not wait for a receive.
		m := message{envelope: envelope{context, w.rank, tag}, element: numbers.kind, length: len(numbers.bytes), payload: numbers.bytes}
		if synchronous {
			m.sender = w.request()
		}
		w.arrive(nil, m)
		return m.sender, nil
	}
	h := header{element: numbers.kind, context: context, tag: int32(tag), length: uint32(len(numbers.bytes))}
	p := w.peers[to]
	if !synchronous {
		done, err := p.start(&h, numbers.bytes)
		if err != nil {
			p.lose(err)
			return nil, w.err
		}
		if done {
			return nil, nil
		}
	}
	o := &outgoing{to: p, header: h, memory: numbers.bytes, synchronous: synchronous, request: w.request()}
	o.request.outgoing = o
	if part != nil {
		// The send may end before wait returns.
		o.request.schedule = part
		part.open++
	}
	p.wait(o)
	return o.request, nil
}

// irecv begins a receive and returns its request.
func (c *Comm) irecv(context uint32, numbers data, source, tag int) *Request {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &receive{}
	c.post(r, context, numbers, source, tag)
	return &r.request
}

// post begins a receive. The caller holds mu.
func (c *Comm) post(r *receive, context uint32, numbers data, source, tag int) {
	w := c.world
	w.pending++
	r.comm, r.envelope, r.buffer = c, c.envelope(context, source, tag), numbers
	r.request = Request{world: w, want: -1, schedule: r.part}
	if r.part != nil {
		r.request.want = numbers.count()
	} else {
		r.request.receive = r
	}
	switch {
	case w.err != nil:
		r.request.complete(Status{}, w.err)
		return
	case source == ProcNull:
		r.request.complete(fromNobody, nil)
		return
	}
	if m := w.matcher.post(r); m != nil {
		w.deliver(r, m)
	}
}

// receive returns a receive for a call that waits until it is done. reuse takes it back.
func (w *World) receive() *receive {
	if n := len(w.spareReceives); n > 0 {
		r := w.spareReceives[n-1]
		w.spareReceives = w.spareReceives[:n-1]
		return r
	}
	return &receive{}
}

// waitAndReuse does not take it back if an operation of the program ends the goroutine, which leaves it posted.
func (w *World) waitAndReuse(r *receive) (Status, error) {
	status, err := r.request.wait()
	w.reuse(r)
	return status, err
}

func (w *World) reuse(r *receive) {
	*r = receive{}
	w.spareReceives = append(w.spareReceives, r)
}
