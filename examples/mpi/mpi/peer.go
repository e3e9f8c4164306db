package mpi

import (
	"time"

	"github.com/goudat/goudat/udat"
)

// linkState is what has become of the connection to a peer.
type linkState int

const (
	idle      linkState = iota
	dialing             // this rank has asked for a connection
	awaited             // the peer asks for one, too, and its request counts
	accepting           // the peer has asked for one
	answered            // and has it, but has not sent anything yet
	connected
	parted // the connection ends, as both sides want
	lost   // for good
)

// peer is another rank, and the connection to it. The world's mu guards it.
type peer struct {
	world *World
	rank  int
	link  linkState

	ep     *udat.EP
	bank   *bank
	memory area
	remote udat.RMRTriplet // the half of the peer's area that this rank writes

	// What this rank has posted, and what of that is known to be complete. Both
	// count since the beginning and wrap around.
	posted, completed uint32
	delivered         uint32        // of posted, what is known to have arrived
	signaled          uint32        // the count of the last operation that completes with an event
	answer            uint32        // the count of the last that completes when all before it has arrived
	sinceSignal       int           // operations since that
	writes            []windowWrite // that may be under way

	checked uint32 // delivered, when guard looked at it last
	silent  int    // how many times guard has seen nothing happen

	out        outRing
	credit     uint32 // eager messages that the peer has granted since the beginning
	eager      uint32 // of them, those that were sent
	number     uint32 // of the next message to the peer
	full       bool   // the peer has more than it wants to keep
	farewell   farewell
	former     uint32    // connections that have ended
	leaving    bool      // disconnect was called
	concluding bool      // what the peer has said last is taken in any case
	leaveAlone time.Time // until which the peer is not asked to part
	acks       []uint32
	queue      []*outgoing // that wait for the connection, or for room
	offers     map[uint32]*outgoing
	offered    uint32 // number of the last offer
	heard      uint64 // the world's count when something came from it

	in    inRing
	grant grant
	told  flow // what the peer knows of consumed and granted

	// messagesOut and messagesIn count messages of all kinds to the peer and from it.
	messagesOut, messagesIn uint32

	expected uint32 // number of the next message from the peer
	early    []int  // receives with messages that are behind some in the ring
	line     line   // this rank's, as it was written last
	parting  uint32 // the count of posted with the last notice, or with what was said of parting
	lines    uint32 // how many were written
	lastLine line   // the peer's, as it was taken last
	seen     uint64 // its stamp, 0 for none
	doze     doze   // what the peer has said last of its sleep
	woken    bool   // it has got an event since
	kept     int    // bytes of messages from the peer that no receive has taken

	transfers []*transfer // that have reads to post, in the order of their beginning, or that have failed
	reading   []*transfer // one for each read under way, in the order of posting
}

// outgoing is a message that waits to be sent, or an offer that waits to be taken.
type outgoing struct {
	to      *peer
	header  header
	memory  []byte
	request *Request
	region  *registration // what is offered
}

// A cookie names the peer, what an operation is, and a value.
type operation uint8

const (
	opWrite operation = iota // the value is that of posted
	opSend                   // likewise, and the slot behind it
	opRead
	opConfirm // a read that shows that what was written before it has arrived
)

func cookie(p *peer, op operation, value uint32) uint64 {
	return uint64(p.rank)<<40 | uint64(op)<<32 | uint64(value)
}

func (w *World) parseCookie(c uint64) (p *peer, op operation, value uint32) {
	if rank := int(c >> 40); rank < len(w.peers) {
		p = w.peers[rank]
	}
	return p, operation(c >> 32), uint32(c)
}

// outstanding is how many operations are under way.
func (p *peer) outstanding() int { return int(p.posted - p.completed) }

// room reports whether the endpoint has room for so many operations. One place is
// kept for the line.
func (p *peer) room(n int) bool {
	return p.link == connected && p.outstanding()+n < p.world.depth
}

// signal decides whether an operation that is posted now completes with an event,
// which it does from time to time: that makes room for others.
func (p *peer) signal() udat.CompletionFlags {
	p.posted++
	p.sinceSignal++
	if p.sinceSignal < (p.world.depth+1)/4 {
		return udat.CompletionSuppress
	}
	return p.mark()
}

// mark has the operation that is posted now complete with an event.
func (p *peer) mark() udat.CompletionFlags {
	p.signaled, p.sinceSignal = p.posted, 0
	if !p.world.iwarp {
		p.answer = p.posted
	}
	return 0
}

// done takes note that the operation was completed, and with it those before it.
func (p *peer) done(op operation, count uint32) {
	if later(count, p.completed) {
		p.completed = count
		p.written()
	}
	if tells := !p.world.iwarp || op == opRead || op == opConfirm; tells && later(count, p.delivered) {
		p.delivered = count
	}
}

// confirm posts an operation that completes when all before it has arrived, if
// there is room. That is a write of the line, which the peer's adapter answers. On iWARP
// a write completes when it is handed over to TCP, and only a read is answered.
func (p *peer) confirm() error {
	if p.outstanding() >= p.world.attr.MaxRequestDTOs {
		return nil
	}
	if !p.world.iwarp {
		p.posted++
		return p.tellLine(p.mark())
	}
	segment, err := p.memory.segment(restAt, restSize)
	if err != nil {
		return err
	}
	remote := p.remote
	remote.VirtualAddress += restAt
	remote.SegmentLength = restSize
	p.posted++
	p.answer = p.posted
	return p.ep.PostRDMARead([]udat.Segment{segment}, cookie(p, opConfirm, p.posted), remote, p.mark())
}

// write posts an RDMA write of this rank's half into the peer's.
func (p *peer) write(at, length int, flags udat.CompletionFlags) error {
	segment, err := p.memory.segment(at, length)
	if err != nil {
		return err
	}
	remote := p.remote
	remote.VirtualAddress += uint64(at)
	remote.SegmentLength = uint32(length)
	return p.ep.PostRDMAWrite([]udat.Segment{segment}, cookie(p, opWrite, p.posted), remote, flags)
}

// quiet reports whether nothing is under way that this rank has begun.
func (p *peer) quiet() bool {
	return len(p.queue) == 0 && len(p.acks) == 0 && len(p.offers) == 0 && len(p.transfers) == 0 && len(p.reading) == 0 && len(p.writes) == 0
}
