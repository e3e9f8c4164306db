package mpi

import (
	"encoding/binary"
	"fmt"
)

// look handles what the peer has written into this rank's memory, and reports whether there was something.
func (p *peer) look() (found bool, err error) {
	if l, stamp := p.news(); stamp != 0 {
		found = l.says() != p.lastLine.says()
		p.seen, p.lastLine = stamp, l
		if err := p.hear(l); err != nil {
			return true, err
		}
		if err := p.speak(); err != nil {
			return true, err
		}
	}
	for !p.behind() {
		message := p.in.next()
		if message == nil {
			break
		}
		taken, err := p.arrived(message)
		if err != nil {
			return true, err
		}
		if !taken {
			// An eager message must be handled first.
			p.world.eagerTurns = patientTurns
			break
		}
		found = true
		p.in.release(message)
	}
	if len(p.early) > 0 {
		taken, err := p.takeEarly()
		if err != nil {
			return true, err
		}
		found = found || taken
	}
	if found {
		p.hears()
		err = p.pump()
	}
	return found, err
}

// behind reports whether the peer has to wait: this rank keeps more of its messages than it should, and no goroutine
// here is waiting for one.
func (p *peer) behind() bool {
	return p.kept > 2*p.world.keep && !p.world.driven && !p.concluding
}

// hears records that something has arrived from the peer, which is now the latest to be heard from.
func (p *peer) hears() {
	p.world.heard++
	p.heard = p.world.heard
}

// news returns the peer's line and its stamp if the line has changed since look last handled it, and has arrived
// completely. Otherwise the stamp is 0.
func (p *peer) news() (line, uint64) {
	theirs := &p.memory.words
	stamp := theirs.Load(stampAt / 8)
	if stamp == p.seen {
		return line{}, 0
	}
	l, whole := parseLine(lineWords{theirs.Load(0), theirs.Load(1), theirs.Load(2), stamp})
	if !whole {
		return line{}, 0
	}
	return l, stamp
}

// glimpse reads from the peer's line what this rank may send.
func (p *peer) glimpse() error {
	l, stamp := p.news()
	if stamp == 0 {
		return nil
	}
	return p.learn(l)
}

// hear handles the peer's line.
func (p *peer) hear(l line) error {
	if err := p.learn(l); err != nil {
		return err
	}
	switch l.notice {
	case noticeDeath:
		p.world.fail(&RankError{int(l.rank), ErrDied})
	case noticeLauncher:
		p.world.fail(ErrLauncherGone)
	}
	return p.wakeUp()
}

// learn handles everything in the line but notices.
func (p *peer) learn(l line) error {
	p.full = l.full
	if l.doze != p.doze {
		p.doze, p.woken = l.doze, false
	}
	return p.allow(l.flow)
}

// allow records what the peer allows this rank to send.
func (p *peer) allow(f flow) error {
	if later(f.consumed, p.out.consumed) && !p.out.free(f.consumed) {
		return fmt.Errorf("%w: more was read than written", errMalformed)
	}
	if later(f.granted, p.credit) {
		p.credit = f.granted
	}
	return nil
}

// take handles a message that has arrived in the shared receive queue.
func (w *World) take(slot, length int) error {
	message, err := w.receives.bytes(slot, length)
	if err != nil {
		return err
	}
	var h header
	if _, err := parseMessage(message, &h); err != nil {
		return err
	}
	if int64(h.source) >= int64(len(w.peers)) || w.peers[h.source].memory.block == nil {
		return fmt.Errorf("%w: it is from rank %d", errMalformed, h.source)
	}
	p := w.peers[h.source]
	p.hears()
	p.grant.used++
	// What the peer has written into its ring earlier must be handled first.
	p.early = append(p.early, slot)
	if _, err := p.look(); err != nil {
		p.lose(err)
	}
	return nil
}

// takeEarly handles eager messages whose turn has come, and reports whether there were any.
func (p *peer) takeEarly() (found bool, err error) {
	w := p.world
	for len(p.early) > 0 && !p.behind() {
		slot := p.early[0]
		message, err := w.receives.bytes(slot, slotSize)
		if err != nil {
			return true, err
		}
		taken, err := p.arrived(message)
		if err != nil || !taken {
			return found, err
		}
		found = true
		p.early = p.early[1:]
		if err := w.receives.post(slot); err != nil {
			return true, err
		}
		w.receives.renew(&p.grant)
	}
	return found, nil
}

// arrived handles a message, unless an earlier one has not arrived yet.
func (p *peer) arrived(text []byte) (taken bool, err error) {
	var h header
	payload, err := parseMessage(text, &h)
	if err != nil {
		return false, err
	}
	w := p.world
	switch h.kind {
	case dataMessage, offerMessage, partMessage:
		if h.number != p.expected {
			return false, nil
		}
		if h.kind != partMessage {
			p.expected++
		}
	}
	if err := p.allow(h.flow); err != nil {
		return false, err
	}
	p.messagesIn++
	switch h.kind {
	case skipMessage, wakeMessage:
		return true, nil
	case partMessage:
		p.asks()
		return true, nil
	case stayMessage:
		p.stays()
		return true, nil
	case takenMessage:
		return true, p.taken(binary.LittleEndian.Uint32(payload))
	}
	m := message{envelope: envelope{h.context, p.rank, int(h.tag)}, element: h.element, length: int(h.length)}
	if h.kind == dataMessage {
		m.payload = payload
	} else {
		m.from = p
		if m.offer, m.memory, err = parseOffer(payload); err != nil {
			return false, err
		}
		if m.memory.SegmentLength != h.length {
			return false, fmt.Errorf("%w: the memory has %d bytes, and the message %d", errMalformed, m.memory.SegmentLength, h.length)
		}
	}
	w.arrive(p, m)
	return true, nil
}

// arrive delivers a message to its receive, or keeps a copy, so that the memory that it arrived in is free. from is
// nil for a message from this rank itself.
func (w *World) arrive(from *peer, m message) {
	if handle := w.handlers[m.context]; handle != nil {
		offer := m
		handle(&offer)
		return
	}
	if r := w.matcher.arrive(m.envelope); r != nil {
		if m.from == nil {
			r.fill(m.element, m.length, m.payload, m.source, m.tag)
			return
		}
		offer := m
		m.from.take(r, &offer)
		return
	}
	if m.context%2 == 1 {
		if c := w.comms[m.context/2]; c != nil && c.stray(&m) {
			if m.from != nil {
				m.from.acknowledge(m.offer) // its sender continues
			}
			return
		}
	}
	kept := m
	kept.payload = append([]byte(nil), m.payload...)
	if from != nil {
		kept.keeper = from
		from.kept += keptMessage + len(m.payload)
	}
	w.matcher.keep(&kept)
	w.stir()
}

// deliver completes a receive with a message that was kept.
func (w *World) deliver(r *receive, m *message) {
	w.release(m)
	if m.from != nil {
		m.from.take(r, m)
		return
	}
	r.fill(m.element, m.length, m.payload, m.source, m.tag)
}

// release subtracts a message from what is kept for its peer.
func (w *World) release(m *message) {
	p := m.keeper
	if p == nil {
		return
	}
	p.kept -= keptMessage + len(m.payload)
	if p.line.full && !p.overfull() {
		if err := p.report(); err != nil {
			p.lose(err)
		}
	}
}

// fill copies the numbers of a message to the program's buffer.
func (r *receive) fill(element elementKind, length int, payload []byte, source, tag int) {
	if element == r.buffer.kind {
		copy(r.buffer.bytes, payload)
	}
	r.request.complete(r.outcome(element, length, source, tag))
}

// outcome returns what a receive reports about a message that is in its buffer.
func (r *receive) outcome(element elementKind, length, source, tag int) (Status, error) {
	status := statusOf(element, length, source, tag)
	switch {
	case element != r.buffer.kind:
		return status, ErrType
	case length > len(r.buffer.bytes):
		return status, ErrTruncated
	}
	return status, nil
}
