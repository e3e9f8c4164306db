package mpi

import (
	"github.com/goudat/goudat/udat"
)

// outgoing is a message that is to be sent.
type outgoing struct {
	header  header
	payload []byte
	request *Request  // nil for a message of the protocol's own
	region  *udat.LMR // what is offered
}

// send queues a message.
func (p *peer) send(o *outgoing) {
	p.queue = append(p.queue, o)
	err := p.reach()
	if err == nil {
		err = p.pump()
	}
	if err != nil {
		p.lose(err)
	}
}

// pump sends what can be sent: each message needs a slot and a credit. When
// nothing is there to take the credits along that are owed, they get a message
// of their own.
func (p *peer) pump() error {
	if p.link != connected || p.world.err != nil {
		return nil
	}
	for len(p.queue) > 0 && len(p.freeSlots) > 0 && p.credits.spend() {
		if err := p.post(p.queue[0]); err != nil {
			return err
		}
		p.queue = p.queue[1:]
	}
	if p.credits.due() && len(p.freeSlots) > 0 && p.credits.spendLast() {
		return p.post(&outgoing{header: header{kind: creditMessage}})
	}
	return nil
}

// post sends a message. The program's memory is free again when the numbers have
// been copied, or, if they were offered, when they have been taken.
func (p *peer) post(o *outgoing) error {
	slot := p.freeSlots[len(p.freeSlots)-1]
	if o.header.kind == offerMessage {
		p.lastOffer++
		o.header.offer = p.lastOffer
	}
	o.header.credits = p.credits.settle()
	segment, memory, err := p.slot(slot, headerSize+len(o.payload))
	if err != nil {
		return err
	}
	copy(memory[headerSize:], o.payload)
	o.header.append(memory[:0])
	if err := p.ep.PostSend([]udat.Segment{segment}, cookie(p.rank, slot), 0); err != nil {
		return err
	}
	p.freeSlots = p.freeSlots[:len(p.freeSlots)-1]
	switch o.header.kind {
	case offerMessage:
		p.offers[o.header.offer] = o
	case eagerMessage:
		o.request.complete(Status{}, nil)
	}
	return nil
}

// sent takes the completion of a send.
func (p *peer) sent(slot int) error {
	p.freeSlots = append(p.freeSlots, slot)
	return p.pump()
}

// arrived takes a message from a receive slot, and posts the slot again.
func (p *peer) arrived(slot int, length uint32) error {
	_, memory, err := p.slot(slotCount+slot, slotSize)
	if err != nil {
		return err
	}
	h, payload, err := parseMessage(memory[:min(int(length), len(memory))])
	if err != nil {
		return err
	}
	if !p.credits.returned(h.credits) {
		return errMalformed
	}
	if err := p.dispatch(h, payload); err != nil {
		return err
	}
	if p.world.left || p.world.err != nil {
		return nil // a receive must not be posted while the peer disconnects
	}
	if err := p.postReceive(slot); err != nil {
		return err
	}
	p.credits.posted()
	return p.pump()
}

func (p *peer) dispatch(h header, payload []byte) error {
	w := p.world
	switch h.kind {
	case takenMessage:
		return p.taken(h.offer)
	case creditMessage:
		return nil
	case goodbyeMessage:
		// No rank sends it before the launcher has heard of all that they are closing.
		w.left = true
		return nil
	case deathMessage:
		w.fail(&RankError{int(h.offer), ErrDied})
		return nil
	}
	m := &message{
		envelope: envelope{h.context, p.rank, int(h.tag)}, element: h.element, length: int(h.length),
		from: p, offer: h.offer, memory: h.memory,
	}
	if h.kind == eagerMessage {
		m.payload, m.from = payload, nil
	}
	w.arrive(m)
	return nil
}

// arrive brings a message to its receive, or keeps it. What it keeps is copied,
// so that the slot can be posted again.
func (w *World) arrive(m *message) {
	if r := w.matcher.arrive(m.envelope); r != nil {
		w.deliver(r, m)
		return
	}
	m.payload = append([]byte(nil), m.payload...)
	w.matcher.keep(m)
	w.changed.Broadcast()
}

// deliver gives a message to its receive.
func (w *World) deliver(r *receive, m *message) {
	if m.from != nil {
		m.from.take(r, m)
		return
	}
	if m.element == r.buffer.kind {
		copy(r.buffer.bytes, m.payload)
	}
	r.request.complete(r.outcome(m))
}

// outcome is what the program gets to know of a message that is in its buffer.
func (r *receive) outcome(m *message) (Status, error) {
	status := r.comm.status(m)
	switch {
	case m.element != r.buffer.kind:
		return status, ErrType
	case m.length > len(r.buffer.bytes):
		return status, ErrTruncated
	}
	return status, nil
}
