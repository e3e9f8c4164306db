package mpi

import (
	"fmt"

	"github.com/goudat/goudat/udat"
)

const (
	// pieceSize is the longest RDMA operation in bytes.
	pieceSize = 256 << 10
	// mostReads is how many reads of a connection can be under way, so that an adapter has the next one when one is done.
	mostReads = 4
	// softwareReads is the same for an adapter that is a program of the kernel. Nothing is gained there by several. If both
	// ranks read at the same time, several take twice as long as one after the other.
	softwareReads = 1
)

// transfer is a read of a peer's memory into the program's: of a message that was offered, or of a part of a window.
type transfer struct {
	from        udat.RMRTriplet
	region      *registration
	length      int // bytes to read
	posted      int // bytes for which reads are posted
	outstanding int // reads
	failed      bool
	then        func(err error) // called with the result
}

// take begins to read for a receive what the peer has offered.
func (p *peer) take(r *receive, m *message) {
	n := min(m.length, len(r.buffer.bytes))
	if m.element != r.buffer.kind {
		n = 0
	}
	p.fetchOffer(m, r.buffer.bytes[:n], func(err error) {
		if err != nil {
			r.request.complete(Status{}, err)
			return
		}
		r.request.complete(r.outcome(m.element, m.length, m.source, m.tag))
	})
}

// fetchOffer reads the beginning of what the peer has offered, and tells the peer that it may continue.
func (p *peer) fetchOffer(m *message, memory []byte, then func(err error)) {
	end := func(err error) {
		if p.world.err == nil {
			p.acknowledge(m.offer)
		}
		then(err)
	}
	if len(memory) == 0 {
		end(nil)
		return
	}
	if err := p.fetch(memory, m.memory, end); err != nil {
		end(err)
	}
}

// fetch begins to read memory of a peer. It returns an error if it cannot begin.
func (p *peer) fetch(memory []byte, from udat.RMRTriplet, then func(err error)) error {
	region, err := p.world.register(memory)
	if err != nil {
		return err
	}
	p.transfers = append(p.transfers, &transfer{from: from, region: region, length: len(memory), then: then})
	if err := p.read(); err != nil {
		p.lose(err)
	}
	return nil
}

// read posts as many reads as may be under way.
func (p *peer) read() error {
	for p.link == connected && len(p.transfers) > 0 && !p.transfers[0].failed && len(p.reading) < p.world.readsAtOnce {
		if !p.room(1) {
			p.world.blocked = true
			return nil
		}
		t := p.transfers[0]
		n := min(pieceSize, t.length-t.posted)
		segment, err := t.region.Segment(t.posted, n)
		if err != nil {
			return err
		}
		remote := t.from
		remote.VirtualAddress += uint64(t.posted)
		remote.SegmentLength = uint32(n)
		p.posted++
		p.answer = p.posted
		if err := p.ep.PostRDMARead([]udat.Segment{segment}, cookie(p, opRead, p.posted), remote, p.mark()); err != nil {
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

// readDone handles the completion of the oldest read. failed is its error.
func (p *peer) readDone(failed error) error {
	if len(p.reading) == 0 {
		return fmt.Errorf("a completion without a read")
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
			p.transfers = append(p.transfers, t) // it ends with the world, which the failure ends soon
		} else {
			t.end(nil)
		}
	}
	if failed != nil {
		return failed
	}
	return p.read()
}

// acknowledge tells the peer that its offer was read.
func (p *peer) acknowledge(offer uint32) {
	p.acks = append(p.acks, offer)
	if err := p.pump(); err != nil {
		p.lose(err)
	}
}

// end releases the program's memory and reports the result.
func (t *transfer) end(err error) {
	if failed := t.region.release(); err == nil {
		err = failed
	}
	t.then(err)
}

// taken ends the send of a message that was offered.
func (p *peer) taken(offer uint32) error {
	o := p.offers[offer]
	if o == nil {
		return fmt.Errorf("%w: offer %d is unknown", errMalformed, offer)
	}
	delete(p.offers, offer)
	o.request.complete(Status{}, o.region.release())
	return nil
}
