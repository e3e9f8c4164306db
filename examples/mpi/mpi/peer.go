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
	idle      linkState = iota
	dialing             // this rank has asked for a connection
	awaited             // the peer asks for one, too, and its request counts
	accepting           // the peer has asked for one
	connected
	lost // for good
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

// reach sees to it that there will be a connection. Of two ranks that ask for one
// at the same time, the request of the lower counts.
func (p *peer) reach() error {
	if p.link != idle {
		return nil
	}
	if err := p.equip(); err != nil {
		return err
	}
	p.link = dialing
	card := p.world.cards[p.rank]
	return p.ep.Connect(card.Address, udat.ConnQual(card.Qualifier), connectTimeout, p.world.greeting())
}

// watch connects this rank with its neighbours, so that there is one to notice
// when it dies, and a way for such news to all others.
func (w *World) watch() error {
	next := w.rank + 1
	if next < len(w.peers) {
		if err := w.peers[next].reach(); err != nil {
			return err
		}
	}
	if last := len(w.peers) - 1; w.rank == 0 && last > 1 {
		return w.peers[last].reach()
	}
	return nil
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
	p.freeSlots = p.freeSlots[:0]
	for slot := range slotCount {
		p.freeSlots = append(p.freeSlots, slot)
		if err := p.postReceive(slot); err != nil {
			return err
		}
	}
	return nil
}

// slot returns a piece of the memory. Those for receives come behind those for sends.
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
	b := binary.LittleEndian.AppendUint64(nil, w.job)
	return binary.LittleEndian.AppendUint32(b, uint32(w.rank))
}

// answer accepts the connection request of a rank, or rejects it.
func (w *World) answer(request *udat.CR) {
	param, err := request.Query()
	p := w.caller(param.PrivateData)
	if err != nil || p == nil || w.err != nil {
		// One that cannot even be rejected has gone.
		_ = request.Reject(nil)
		return
	}
	// An endpoint that has asked for a connection itself goes when it is rejected.
	p.ep = nil
	p.link = accepting
	if err := p.equip(); err != nil {
		p.lose(errors.Join(err, request.Reject(nil)))
		return
	}
	if err := request.Accept(p.ep, nil); err != nil {
		p.lose(err)
	}
}

// caller returns the peer that a greeting is from, nil if it may not connect now.
func (w *World) caller(greeting []byte) *peer {
	const size = 8 + 4 // providers may add to it
	if len(greeting) < size || binary.LittleEndian.Uint64(greeting) != w.job {
		return nil
	}
	rank := binary.LittleEndian.Uint32(greeting[8:])
	if int64(rank) >= int64(len(w.peers)) || int(rank) == w.rank {
		return nil
	}
	p := w.peers[rank]
	if p.link == idle || p.link == awaited || p.link == dialing && p.rank < w.rank {
		return p
	}
	return nil
}

// turn takes an event of a connection.
func (p *peer) turn(event udat.Event) error {
	if event.EP() != p.ep {
		return event.EP().Free() // the peer's request counts
	}
	switch {
	case event.Number == udat.EventConnectionPeerRejected && p.link == dialing && p.rank < p.world.rank:
		// Its own request is on its way.
		ep := p.ep
		p.ep, p.link = nil, awaited
		return ep.Free()
	case event.Number != udat.EventConnectionEstablished:
		return fmt.Errorf("the connection: %w", udat.ConnectionEvent(event.Number))
	}
	p.link = connected
	if p.world.err != nil {
		return nil
	}
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
