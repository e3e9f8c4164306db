package mpi

import (
	"encoding/binary"

	"github.com/goudat/goudat/udat"
)

// start tries to send a message at once, and returns true if it did: the memory may be used again. Otherwise the
// caller queues the message with wait.
func (p *peer) start(h *header, memory []byte) (done bool, err error) {
	if p.link != connected || p.farewell != staying {
		return false, nil
	}
	if err := p.glimpse(); err != nil {
		return false, err
	}
	if len(p.queue) > 0 || p.full {
		return false, nil
	}
	return p.try(h, memory)
}

// wait queues a message that could not be sent at once.
func (p *peer) wait(o *outgoing) {
	p.queue = append(p.queue, o)
	err := p.reach()
	if err == nil {
		err = p.pump()
	}
	if err != nil {
		p.lose(err)
	}
}

// try sends a message through the ring or as an eager message, if it is short enough and there is room.
func (p *peer) try(h *header, memory []byte) (sent bool, err error) {
	h.kind, h.number = dataMessage, p.number
	switch {
	case len(memory) <= mostInRing(int(p.out.size)):
		sent, err = p.put(h, memory)
	case len(memory) <= eagerLimit:
		sent, err = p.sendEager(h, memory)
	}
	if sent {
		p.number++
	}
	return sent, err
}

// put sends a short message through the ring. If the peer sleeps, it sends an eager message, which wakes the peer.
func (p *peer) put(h *header, payload []byte) (bool, error) {
	if p.wantsEvent() {
		if sent, err := p.sendEager(h, payload); err != nil || sent {
			return sent, err
		}
	}
	return p.putInRing(h, payload)
}

// pump does everything that is possible now: it sends, reads, and tells the peer what it may send.
func (p *peer) pump() error {
	if p.link != connected || p.world.err != nil {
		return nil
	}
	if err := p.wakeUp(); err != nil {
		return err
	}
	if err := p.acknowledgeAll(); err != nil {
		return err
	}
	if err := p.tellParting(); err != nil {
		return err
	}
	for len(p.queue) > 0 && p.farewell == staying {
		o := p.queue[0]
		sent, err := p.advance(o)
		if err != nil {
			return err
		}
		if !sent {
			break
		}
		p.queue = p.queue[1:]
	}
	if err := p.read(); err != nil {
		return err
	}
	return p.report()
}

// acknowledgeAll tells the peer which of its offers were read. These messages need no order, and go first.
func (p *peer) acknowledgeAll() error {
	for len(p.acks) > 0 {
		var payload [takenSize]byte
		binary.LittleEndian.PutUint32(payload[:], p.acks[0])
		if sent, err := p.put(&header{kind: takenMessage}, payload[:]); err != nil || !sent {
			return err
		}
		p.acks = p.acks[1:]
	}
	return nil
}

// advance sends a message of the queue, or an offer of it.
func (p *peer) advance(o *outgoing) (bool, error) {
	if o.region == nil && len(o.memory) <= eagerLimit && !p.full && (p.credit != 0 || len(o.memory) <= mostInRing(int(p.out.size))) {
		sent, err := p.try(&o.header, o.memory)
		if sent && err == nil { // after an error, the end of the world completes it
			o.request.complete(Status{}, nil)
		}
		return sent, err
	}
	if err := o.expose(p.world); err != nil {
		o.request.complete(Status{}, err)
		return true, nil
	}
	var payload [offerSize]byte
	remote, err := o.region.triplet()
	if err != nil {
		return false, err
	}
	putOffer(payload[:], p.offered+1, remote)
	o.header.kind, o.header.number = offerMessage, p.number
	sent, err := p.put(&o.header, payload[:])
	if sent {
		p.number++
		p.offered++
		p.offers[p.offered] = o
	}
	return sent, err
}

// expose registers the memory of a message for the peer to read.
func (o *outgoing) expose(w *World) (err error) {
	if o.region == nil && len(o.memory) > 0 {
		o.region, err = w.register(o.memory)
	}
	return err
}

// putInRing writes a message into the peer's ring, if there is room.
func (p *peer) putInRing(h *header, payload []byte) (bool, error) {
	if !p.room(2) {
		p.world.blocked = true
		return false, nil
	}
	space := ringSpace(len(payload))
	at, skip, ok := p.out.claim(space)
	if !ok {
		return false, nil
	}
	ours := p.memory.ours()
	if skip >= 0 {
		place := ours[lineSpace+skip:][:ringUnit]
		clear(place)
		(&header{kind: skipMessage}).put(place)
		seal(place)
		if err := p.write(lineSpace+skip, ringUnit, p.signal()); err != nil {
			return false, err
		}
		p.goesOut()
	}
	p.goesOut()
	place := ours[lineSpace+at:][:space]
	h.payload = uint16(len(payload))
	p.tell(h)
	h.put(place)
	clear(place[headerSize+copy(place[headerSize:], payload):])
	seal(place)
	p.world.stats.Short++
	return true, p.write(lineSpace+at, space, p.signal())
}

// tell adds to a message what the peer is allowed.
func (p *peer) tell(h *header) {
	h.flow = flow{p.in.consumed, p.grant.total}
	p.told, p.in.reported = h.flow, h.flow.consumed
}

// sendEager sends a message to the peer's shared receive queue, if the peer has granted that.
func (p *peer) sendEager(h *header, payload []byte) (bool, error) {
	w := p.world
	if p.credit == p.eager {
		return false, nil
	}
	if len(w.staging.free) == 0 || !p.room(1) {
		w.blocked = true
		return false, nil
	}
	slot := w.staging.take()
	memory := w.staging.slots[slot].Bytes()
	h.payload, h.source = uint16(len(payload)), uint32(w.rank)
	p.tell(h)
	h.put(memory)
	copy(memory[headerSize:], payload)
	segment, err := w.staging.slots[slot].Segment(0, headerSize+len(payload))
	if err != nil {
		return false, err
	}
	p.posted++
	// sent restores the full count of operations: fewer than 64 Ki are under way.
	value := p.posted<<16 | uint32(slot)
	if err := p.ep.PostSend([]udat.Segment{segment}, cookie(p, opSend, value), p.mark()); err != nil {
		return false, err
	}
	p.eager++
	p.goesOut()
	p.woken = true
	w.stats.Eager++
	return true, nil
}

// sent handles the completion of an eager message.
func (p *peer) sent(value uint32) {
	w := p.world
	w.staging.free = append(w.staging.free, int(value&0xffff))
	p.done(opSend, p.posted-uint32(uint16(p.posted)-uint16(value>>16)))
}

// report tells the peer what it is allowed, if it may be waiting for that.
func (p *peer) report() error {
	w := p.world
	full := p.overfull()
	granted := p.grant.total - p.told.granted
	if !p.in.due() && full == p.line.full && int(granted) < max(1, p.grant.open()/2) {
		return nil
	}
	if p.outstanding() >= w.depth || p.link != connected {
		w.blocked = true
		return nil
	}
	p.line.full = full
	if p.world.wake == nil {
		p.line.doze = doze{} // it is awake
	}
	return p.tellLine(p.signal())
}

// overfull reports whether the peer has to offer its messages.
func (p *peer) overfull() bool {
	if p.line.full {
		return p.kept > p.world.keep/2
	}
	return p.kept > p.world.keep
}

// tellLine writes the line with what the peer is allowed now.
func (p *peer) tellLine(flags udat.CompletionFlags) error {
	p.told, p.in.reported = flow{p.in.consumed, p.grant.total}, p.in.consumed
	return p.writeLine(flags)
}

func (p *peer) writeLine(flags udat.CompletionFlags) error {
	p.line.flow = p.told
	p.line.put(p.memory.ours(), p.lines)
	p.lines++
	return p.write(0, lineSize, flags)
}

// mostKept is how many bytes of a peer's messages may wait for receives, with keptMessage bytes of overhead for each.
// A peer that exceeds it offers its messages: they stay in its memory, and their senders wait.
const (
	mostKept    = 128 << 10
	keptMessage = 128
)
