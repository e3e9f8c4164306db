package mpi

import (
	"fmt"

	"github.com/goudat/goudat/udat"
)

// pieceSize is the most bytes of an RDMA read.
const pieceSize = 256 << 10

// transfer is a message that was offered, on its way into the program's memory.
type transfer struct {
	receive     *receive
	message     *message
	region      *udat.LMR
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
	if t.region, err = udat.RegisterMemory(p.world.pz, r.buffer.bytes[:t.length], udat.MemPrivLocalWrite); err != nil {
		p.send(t.answer())
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
	for p.link == connected && len(p.transfers) > 0 && len(p.reading) < readWindow {
		t := p.transfers[0]
		n := min(pieceSize, t.length-t.posted)
		segment, err := t.region.Segment(t.posted, n)
		if err != nil {
			return err
		}
		remote := t.message.memory
		remote.VirtualAddress += uint64(t.posted)
		remote.SegmentLength = uint32(n)
		if err := p.ep.PostRDMARead([]udat.Segment{segment}, cookie(p.rank, cookieRead), remote, 0); err != nil {
			return err
		}
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
	p.send(t.answer())
	t.end(nil)
}

func (t *transfer) answer() *outgoing {
	return &outgoing{header: header{kind: takenMessage, offer: t.message.offer}}
}

// end lets go of the program's memory.
func (t *transfer) end(err error) {
	if t.region != nil {
		if failed := t.region.Free(); err == nil {
			err = failed
		}
	}
	if err != nil {
		t.receive.request.complete(Status{}, err)
		return
	}
	t.receive.request.complete(t.receive.outcome(t.message))
}

// taken ends the send of what was offered.
func (p *peer) taken(offer uint32) error {
	o := p.offers[offer]
	if o == nil {
		return fmt.Errorf("%w: offer %d is unknown", errMalformed, offer)
	}
	delete(p.offers, offer)
	o.request.complete(Status{}, o.region.Free())
	return nil
}
