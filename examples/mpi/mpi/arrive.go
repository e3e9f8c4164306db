package mpi

import (
	"encoding/binary"
	"fmt"
)

// look takes what the peer has written into this rank's memory, and reports
// whether there was something.
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
			// An eager message comes first.
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

// behind reports whether the peer is to wait: it has sent more than this rank
// keeps, which nobody here is looking for.
func (p *peer) behind() bool {
	return p.kept > 2*p.world.keep && !p.world.driven && !p.concluding
}

// hears notes that something has come from the peer, later than from all others.
func (p *peer) hears() {
	p.world.heard++
	p.heard = p.world.heard
}

// news returns the peer's line, and its stamp, if it was written since look has
// taken it, and is all there; else the stamp is 0.
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

// glimpse takes from the peer's line what it allows.
func (p *peer) glimpse() error {
	l, stamp := p.news()
	if stamp == 0 {
		return nil
	}
	return p.learn(l)
}

// hear takes the peer's line.
func (p *peer) hear(l line) error {
	if err := p.learn(l); err != nil {
		return err
	}
	switch l.notice {
	case noticeGoodbye:
		// No rank says it before the launcher has heard of all that they are closing.
		p.world.left = true
	case noticeDeath:
		p.world.fail(&RankError{int(l.rank), ErrDied})
	}
	return p.wakeUp()
}

// learn takes what the line says besides notices.
func (p *peer) learn(l line) error {
	p.full = l.full
	if l.doze != p.doze {
		p.doze, p.woken = l.doze, false
	}
	return p.allow(l.flow)
}

// allow takes what the peer allows.
func (p *peer) allow(f flow) error {
	if later(f.consumed, p.out.consumed) && !p.out.free(f.consumed) {
		return fmt.Errorf("%w: more was read than written", errMalformed)
	}
	if later(f.granted, p.credit) {
		p.credit = f.granted
	}
	return nil
}

// take takes a message that has come to the shared receive queue.
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
	// What the peer has written into its ring before comes first.
	p.early = append(p.early, slot)
	if _, err := p.look(); err != nil {
		p.lose(err)
	}
	return nil
}

// takeEarly takes eager messages whose turn has come, and reports whether there
// were some.
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

// arrived takes a message, unless it is not its turn.
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
			return false, fmt.Errorf("%w: %d bytes of memory, and %d announced", errMalformed, m.memory.SegmentLength, h.length)
		}
	}
	w.arrive(p, m)
	return true, nil
}

// arrive brings a message to its receive, or keeps it. What it keeps is copied,
// so that the memory that it came in is free. from is nil for one of this rank's
// own.
func (w *World) arrive(from *peer, m message) {
	if len(w.handlers) > 0 {
		if handle := w.handlers[m.context]; handle != nil {
			offer := m
			handle(&offer)
			return
		}
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
			w.discard(&m)
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

// deliver gives a message that was kept to its receive.
func (w *World) deliver(r *receive, m *message) {
	w.release(m)
	if m.from != nil {
		m.from.take(r, m)
		return
	}
	r.fill(m.element, m.length, m.payload, m.source, m.tag)
}

// release takes a message out of the account of the peer that it was kept for.
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

// fill copies the numbers of a message to where they are wanted.
func (r *receive) fill(element elementKind, length int, payload []byte, source, tag int) {
	if element == r.buffer.kind {
		copy(r.buffer.bytes, payload)
	}
	r.request.complete(r.outcome(element, length, source, tag))
}

// outcome is what the program gets to know of a message that is in its buffer.
func (r *receive) outcome(element elementKind, length, source, tag int) (Status, error) {
	status := r.comm.status(element, length, source, tag)
	switch {
	case element != r.buffer.kind:
		return status, ErrType
	case length > len(r.buffer.bytes):
		return status, ErrTruncated
	}
	return status, nil
}
