package mpi

import (
	"fmt"

	"github.com/goudat/goudat/udat"
)

const (
	// pieceSize is the most bytes of an RDMA read.
	pieceSize = 256 << 10
	// readWindow is how many reads of a connection are under way at most.
	readWindow = 4
)

// transfer is a message that was offered, on its way into the program's memory.
type transfer struct {
	receive     *receive
	message     *message
	region      *registration
	length      int // bytes to read
	posted      int // bytes of which reads are posted
	outstanding int // reads
	failed      bool
}

// take begins to read what the peer has offered.
func (p *peer) take(r *receive, m *message) {
	t := &transfer{receive: r, message: m, length: min(m.length, len(r.buffer.bytes))}
	if m.element != r.buffer.kind {
		t.length = 0
	}
	if t.length == 0 {
		p.finish(t)
		return
	}
	var err error
	if t.region, err = p.world.register(r.buffer.bytes[:t.length]); err != nil {
		p.acknowledge(m.offer)
		r.request.complete(Status{}, err)
		return
	}
	p.transfers = append(p.transfers, t)
	if err := p.read(); err != nil {
		p.lose(err)
	}
}

// read posts as many reads as may be under way.
func (p *peer) read() error {
	for p.link == connected && len(p.transfers) > 0 && !p.transfers[0].failed && len(p.reading) < readWindow {
		if !p.room(1) {
			p.world.blocked = true
			return nil
		}
		t := p.transfers[0]
		n := min(pieceSize, t.length-t.posted)
		segment, err := t.region.lmr.Segment(t.posted, n)
		if err != nil {
			return err
		}
		remote := t.message.memory
		remote.VirtualAddress += uint64(t.posted)
		remote.SegmentLength = uint32(n)
		p.posted++
		p.sinceSignal = 0
		if err := p.ep.PostRDMARead([]udat.Segment{segment}, cookie(p, opRead, p.posted), remote, 0); err != nil {
			return err
		}
		p.world.reads++
		t.posted += n
		t.outstanding++
		p.reading = append(p.reading, t)
		if t.posted == t.length {
			p.transfers = p.transfers[1:]
		}
	}
	return nil
}

// readDone takes the completion of the oldest read, and gives an error for a
// failed one.
func (p *peer) readDone(failed error) error {
	if len(p.reading) == 0 {
		return fmt.Errorf("a completion of no read")
	}
	t := p.reading[0]
	p.reading = p.reading[1:]
	t.outstanding--
	p.world.reads--
	if err := p.world.err; err != nil {
		if t.outstanding == 0 {
			t.end(err)
		}
		return nil
	}
	t.failed = t.failed || failed != nil
	if t.outstanding == 0 && t.posted == t.length {
		if t.failed {
			p.transfers = append(p.transfers, t) // for the end of the world, which is near
		} else {
			p.finish(t)
		}
	}
	if failed != nil {
		return failed
	}
	return p.read()
}

// finish ends a transfer that has brought everything, and tells the peer.
func (p *peer) finish(t *transfer) {
	p.acknowledge(t.message.offer)
	t.end(nil)
}

// acknowledge tells the peer that its offer was taken.
func (p *peer) acknowledge(offer uint32) {
	p.acks = append(p.acks, offer)
	if err := p.pump(); err != nil {
		p.lose(err)
	}
}

// end lets go of the program's memory.
func (t *transfer) end(err error) {
	if failed := t.region.release(); err == nil {
		err = failed
	}
	if err != nil {
		t.receive.request.complete(Status{}, err)
		return
	}
	m := t.message
	t.receive.request.complete(t.receive.outcome(m.element, m.length, m.source, m.tag))
}

// taken ends the send of what was offered.
func (p *peer) taken(offer uint32) error {
	o := p.offers[offer]
	if o == nil {
		return fmt.Errorf("%w: offer %d is unknown", errMalformed, offer)
	}
	delete(p.offers, offer)
	o.request.complete(Status{}, o.region.release())
	return nil
}
