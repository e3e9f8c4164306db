package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
)

const (
	// slotCount is how many receives each side of a connection posts, and how
	// many messages it may have under way.
	slotCount = 16
	// readWindow is how many RDMA reads of a connection are under way at most.
	readWindow = 4

	connectTimeout = time.Minute
)

// linkState is what has become of the connection to a peer.
type linkState int

const (
	idle       linkState = iota
	asked                // the peer, which has the lower rank, was asked to connect
	connecting           // an endpoint is on its way
	connected
	lost // for good: the world is about to end
)

// peer is another rank, and the connection to it. The world's mu guards it.
type peer struct {
	world *World
	rank  int
	link  linkState

	ep     *udat.EP
	memory *udat.LMR // slots for sends, then slots for receives

	credits   credits
	freeSlots []int       // for sends
	queue     []*outgoing // that wait for the connection, a slot or a credit
	offers    map[uint32]*outgoing
	lastOffer uint32

	transfers []*transfer // that have reads to post, in the order of their beginning, or that have failed
	reading   []*transfer // one for each read under way, in the order of posting
}

// reach sees to it that there will be a connection. The lower of two ranks
// connects, and the other asks it to, so that two attempts never meet.
func (p *peer) reach() error {
	switch {
	case p.link != idle:
		return nil
	case p.world.rank < p.rank:
		return p.dial()
	}
	p.link = asked
	return p.world.member.AskToDial(p.rank)
}

func (p *peer) dial() error {
	if err := p.equip(); err != nil {
		return err
	}
	p.link = connecting
	place := p.world.places[p.rank]
	return p.ep.Connect(place.Address, udat.ConnQual(place.Qualifier), connectTimeout, p.world.greeting())
}

// equip makes the endpoint and its memory, and posts the receives.
func (p *peer) equip() error {
	w := p.world
	var err error
	if p.memory, err = udat.AllocMemory(w.pz, 2*slotCount*slotSize, udat.MemPrivLocalRead|udat.MemPrivLocalWrite); err != nil {
		return err
	}
	if p.ep, err = udat.CreateEP(w.ia, w.pz, w.received, w.requested, w.connections, &w.attr); err != nil {
		return err
	}
	if err := udat.SetConsumerContext(p.ep, p); err != nil {
		return err
	}
	p.credits = newCredits(slotCount)
	p.offers = map[uint32]*outgoing{}
	for slot := range slotCount {
		p.freeSlots = append(p.freeSlots, slot)
		if err := p.postReceive(slot); err != nil {
			return err
		}
	}
	return nil
}

// slot gives a piece of the memory. Those for receives come behind those for sends.
func (p *peer) slot(i, length int) (udat.Segment, []byte, error) {
	segment, err := p.memory.Segment(i*slotSize, length)
	return segment, p.memory.Bytes()[i*slotSize:][:slotSize], err
}

func (p *peer) postReceive(slot int) error {
	segment, _, err := p.slot(slotCount+slot, slotSize)
	if err != nil {
		return err
	}
	return p.ep.PostRecv([]udat.Segment{segment}, cookie(p.rank, slot), 0)
}

// A cookie names the peer, and the slot of a send or a receive, or tells that
// the operation is an RDMA read.
const (
	cookieSlots = 1 << 16
	cookieRead  = cookieSlots - 1
)

func cookie(rank, slot int) uint64 { return uint64(rank)*cookieSlots + uint64(slot) }

func (w *World) parseCookie(c uint64) (*peer, int) {
	return w.peers[c/cookieSlots], int(c % cookieSlots)
}

// greeting is the private data of a connection request: job and rank.
func (w *World) greeting() []byte {
	b := binary.LittleEndian.AppendUint64(nil, w.member.Job)
	return binary.LittleEndian.AppendUint32(b, uint32(w.rank))
}

// answer accepts the connection request of a lower rank, and rejects any other.
func (w *World) answer(request *udat.CR) {
	param, err := request.Query()
	p := w.caller(param.PrivateData)
	if err != nil || p == nil || w.err != nil {
		// One that cannot even be rejected has gone.
		_ = request.Reject(nil)
		return
	}
	p.link = connecting
	if err := p.equip(); err != nil {
		w.suspect(p, errors.Join(err, request.Reject(nil)))
		return
	}
	if err := request.Accept(p.ep, nil); err != nil {
		w.suspect(p, err)
	}
}

// caller gives the peer that a greeting is from, nil if none may send it.
func (w *World) caller(greeting []byte) *peer {
	const size = 8 + 4 // providers may add to it
	if len(greeting) < size || binary.LittleEndian.Uint64(greeting) != w.member.Job {
		return nil
	}
	rank := binary.LittleEndian.Uint32(greeting[8:])
	if int64(rank) >= int64(w.rank) {
		return nil
	}
	if p := w.peers[rank]; p.link == idle || p.link == asked {
		return p
	}
	return nil
}

// turn takes an event of the connection.
func (p *peer) turn(event udat.Event) error {
	if event.Number != udat.EventConnectionEstablished {
		return fmt.Errorf("the connection: %w", udat.ConnectionEvent(event.Number))
	}
	p.link = connected
	if err := p.pump(); err != nil {
		return err
	}
	// The side that is called may have been offered messages before it heard that it is connected.
	return p.read()
}

// quiet tells whether nothing is under way that this rank has begun.
func (p *peer) quiet() bool {
	return len(p.queue) == 0 && len(p.offers) == 0 && len(p.transfers) == 0 && len(p.reading) == 0 &&
		(p.ep == nil || len(p.freeSlots) == slotCount)
}
