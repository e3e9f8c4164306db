package mpi

import (
	"time"

	"github.com/goudat/goudat/udat"
)

// linkState is the state of the connection to a peer.
type linkState int

const (
	idle      linkState = iota
	dialing             // this rank has asked for a connection
	awaited             // the peer asks for one at the same time, and its request wins
	accepting           // the peer has asked for one
	answered            // this rank has accepted, but the peer has not sent anything yet
	connected
	parted // both sides have agreed to end the connection
	lost   // the connection has failed
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

	// How many operations this rank has posted, and how many of these are known to be complete. The counters start
	// with the connection and wrap around.
	posted, completed uint32
	delivered         uint32        // how many of the posted ones are known to have arrived
	signaled          uint32        // posted at the last operation that completes with an event
	answer            uint32        // posted at the last operation whose completion confirms that all earlier ones have arrived
	sinceSignal       int           // operations since then
	writes            []windowWrite // those that may be under way

	checked uint32 // delivered at guard's last check
	silent  int    // how many of guard's checks in a row found that nothing had completed

	out        outRing
	credit     uint32 // eager messages that the peer has granted since the connection began
	eager      uint32 // how many of these were sent
	number     uint32 // of the next message to the peer
	full       bool   // the peer keeps more messages than it should
	farewell   farewell
	former     uint32    // connections that have ended
	leaving    bool      // disconnect was called
	concluding bool      // the peer's last messages are handled in any case
	leaveAlone time.Time // this rank does not ask the peer to disconnect before then
	acks       []uint32
	queue      []*outgoing // messages that wait for the connection, or for room
	offers     map[uint32]*outgoing
	offered    uint32 // number of the last offer
	heard      uint64 // the world's count at the last arrival from the peer

	in    inRing
	grant grant
	told  flow // the flow that the peer was told

	// messagesOut and messagesIn count messages of all kinds to the peer and from it.
	messagesOut, messagesIn uint32

	expected uint32 // number of the next message from the peer
	early    []int  // slots of eager messages that must wait for earlier ones in the ring
	line     line   // this rank's, as it was written last
	parting  uint32 // posted at the last notice, or at the last message about disconnecting
	lines    uint32 // how many lines were written
	lastLine line   // the peer's, as it was handled last
	seen     uint64 // the stamp of that line, 0 for none
	doze     doze   // the latest that the peer has said about its sleep
	woken    bool   // it was sent an eager message since then
	kept     int    // bytes of messages from the peer that wait for receives

	transfers []*transfer // transfers that have reads to post, in the order of their beginning, or that have failed
	reading   []*transfer // one for each read under way, in the order of posting
}

// outgoing is a message that waits to be sent, or an offer that waits to be taken.
type outgoing struct {
	header  header
	memory  []byte
	request *Request
	region  *registration // what is offered
}

// A cookie identifies the peer, the kind of operation, and a value.
type operation uint8

const (
	opWrite operation = iota // the value is posted
	opSend                   // the value is the lower half of posted, then the slot
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

// outstanding returns how many operations are under way.
func (p *peer) outstanding() int { return int(p.posted - p.completed) }

// room reports whether the endpoint has room for n more operations. One place stays free for the line.
func (p *peer) room(n int) bool {
	return p.link == connected && p.outstanding()+n < p.world.depth
}

// signal counts an operation that is about to be posted, and returns its flags. From time to time it lets one
// complete with an event, which makes room for others.
func (p *peer) signal() udat.CompletionFlags {
	p.posted++
	p.sinceSignal++
	if p.sinceSignal < (p.world.depth+1)/4 {
		return udat.CompletionSuppress
	}
	return p.mark()
}

// mark makes the operation that is about to be posted complete with an event.
func (p *peer) mark() udat.CompletionFlags {
	p.signaled, p.sinceSignal = p.posted, 0
	if !p.world.iwarp {
		p.answer = p.posted
	}
	return 0
}

// done records that an operation is complete, and with it all earlier ones.
func (p *peer) done(op operation, count uint32) {
	if later(count, p.completed) {
		p.completed = count
		p.written()
	}
	if tells := !p.world.iwarp || op == opRead || op == opConfirm; tells && later(count, p.delivered) {
		p.delivered = count
	}
}

// confirm posts an operation whose completion confirms that all earlier ones have arrived, if there is room. That is
// a write of the line, which the peer's adapter acknowledges. On iWARP a write completes when it has been handed to
// TCP; only a read is answered by the peer.
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

// write posts an RDMA write of a piece of this rank's half into the peer's area.
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

// quiet reports whether no operation that this rank has begun is under way.
func (p *peer) quiet() bool {
	return len(p.queue) == 0 && len(p.acks) == 0 && len(p.offers) == 0 && len(p.transfers) == 0 && len(p.reading) == 0 && len(p.writes) == 0
}
