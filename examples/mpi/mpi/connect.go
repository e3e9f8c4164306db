package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// reach begins a connection, if there is none. If two ranks ask each other at the same time, the request of the lower
// rank wins.
func (p *peer) reach() error {
	if p.link != idle {
		return nil
	}
	if err := p.equip(); err != nil {
		return err
	}
	greeting, err := p.greeting()
	if err != nil {
		return err
	}
	p.link = dialing
	card := p.world.cards[p.rank]
	return p.ep.Connect(card.Address, udat.ConnQual(card.Qualifier), p.world.bound, greeting)
}

// watch connects this rank with its neighbors, so that they notice when it dies, and so that the news has a way to
// all other ranks.
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

// equip creates the endpoint and its memory.
func (p *peer) equip() error {
	w := p.world
	var err error
	if p.memory.block == nil {
		if p.memory, err = w.areas.get(w.pz, areaHalf(len(w.peers)), len(w.peers)); err != nil {
			return err
		}
		size := ringSize(len(w.peers))
		p.out.size = uint32(size)
		p.in.memory, p.in.words, p.in.first = p.memory.theirs()[lineSpace:], &p.memory.words, lineSpace/8
		p.offers = map[uint32]*outgoing{}
		if err := w.receives.refill(); err != nil {
			return err
		}
		w.receives.begin(&p.grant)
		p.told.granted = p.grant.total // the greeting says so
		w.linked = append(w.linked, p)
	}
	if p.bank, err = w.bank(); err != nil {
		return err
	}
	p.bank.used++
	if p.ep, err = udat.CreateEPWithSRQ(w.ia, w.pz, w.received, p.bank.requests, p.bank.connections, w.receives.srq, &w.attr); err != nil {
		return err
	}
	w.owners[p.ep] = p
	return nil
}

// dismiss frees an endpoint whose events are over.
func (w *World) dismiss(ep *udat.EP) error {
	delete(w.owners, ep)
	return ep.Free()
}

// A greeting is the private data of a connection request and of its acceptance. It has the job, the rank, how many
// connections these two had before, the memory that the peer may write, and how many messages the peer may send to
// the shared receive queue.
const greetingSize = 8 + 4 + 4 + tripletSize + 4

func (p *peer) greeting() ([]byte, error) {
	triplet, err := p.memory.triplet()
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint64(nil, p.world.job)
	b = binary.LittleEndian.AppendUint32(b, uint32(p.world.rank))
	b = binary.LittleEndian.AppendUint32(b, p.former)
	b, _ = triplet.AppendBinary(b) // has no errors
	return binary.LittleEndian.AppendUint32(b, p.grant.total), nil
}

// greeted handles the greeting of the peer.
func (p *peer) greeted(greeting []byte) error {
	if len(greeting) < greetingSize { // providers may add to it
		return fmt.Errorf("%w: a greeting of %d bytes", errMalformed, len(greeting))
	}
	if err := p.remote.UnmarshalBinary(greeting[16:][:tripletSize]); err != nil {
		return err
	}
	if int(p.remote.SegmentLength) != p.memory.half {
		return fmt.Errorf("%w: the peer has memory of %d bytes, and this rank %d", errMalformed, p.remote.SegmentLength, p.memory.half)
	}
	p.credit = binary.LittleEndian.Uint32(greeting[16+tripletSize:])
	return nil
}

// answer accepts the connection request of a rank, or rejects it.
func (w *World) answer(request *udat.CR) {
	param, err := request.Query()
	p := w.caller(param.PrivateData)
	if err != nil || p == nil || w.err != nil {
		// If rejecting fails, the peer has gone.
		_ = request.Reject(nil)
		return
	}
	if p.ep != nil {
		w.givenUp[p.ep] = p.bank // its own request is freed when the peer rejects it
		p.ep = nil
	}
	p.link = accepting
	err = p.equip()
	var greeting []byte
	if err == nil {
		err = p.greeted(param.PrivateData)
	}
	if err == nil {
		greeting, err = p.greeting()
	}
	if err != nil {
		p.lose(errors.Join(err, request.Reject(nil)))
		return
	}
	if err := request.Accept(p.ep, greeting); err != nil {
		p.lose(err)
	}
}

// caller returns the peer that a greeting is from, or nil if it may not connect now.
func (w *World) caller(greeting []byte) *peer {
	if len(greeting) < greetingSize || binary.LittleEndian.Uint64(greeting) != w.job {
		return nil
	}
	rank := binary.LittleEndian.Uint32(greeting[8:])
	if int64(rank) >= int64(len(w.peers)) || int(rank) == w.rank {
		return nil
	}
	p := w.peers[rank]
	former := binary.LittleEndian.Uint32(greeting[12:])
	if former == p.former+1 {
		// The peer may have noticed the end of the connection first, and begin another.
		p.conclude()
		if p.link == parted {
			if err := p.separate(); err != nil {
				p.lose(err)
				return nil
			}
		}
	}
	if former != p.former {
		return nil // a request of a former connection
	}
	if p.link == idle || p.link == awaited || p.link == dialing && p.rank < w.rank {
		return p
	}
	return nil // a request that was given up for this rank's own
}

// turn handles an event of a connection.
func (p *peer) turn(event udat.Event) error {
	if ep := event.EP(); ep != p.ep {
		if b := p.world.givenUp[ep]; b != nil {
			delete(p.world.givenUp, ep)
			b.used--
		}
		return p.world.dismiss(ep)
	}
	p.conclude()
	if event.Number != udat.EventConnectionEstablished && p.hasAsked() {
		p.farewell = staying // the peer has not agreed; the connection ends for another reason
	}
	switch {
	case p.link == parted:
		if err := p.separate(); err != nil || len(p.queue) == 0 {
			return err
		}
		return p.reach()
	case event.Number == udat.EventConnectionPeerRejected && p.link == dialing && p.rank < p.world.rank:
		// The peer's own request is on its way.
		ep := p.ep
		p.ep, p.link = nil, awaited
		p.bank.used--
		return p.world.dismiss(ep)
	case event.Number != udat.EventConnectionEstablished:
		return fmt.Errorf("the connection: %w", event.Number)
	}
	p.silent = 0
	p.hears()
	if p.link == accepting {
		p.link = answered
		return p.speak()
	}
	if err := p.greeted(event.PrivateData()); err != nil {
		return err
	}
	p.link = connected
	if p.world.err != nil {
		return nil
	}
	if err := p.tellLine(p.signal()); err != nil { // the peer waits for it
		return err
	}
	return p.begin()
}

// speak lets this rank send on a connection that it has accepted, once the peer has written its line. On iWARP the
// side that asked for the connection must be the first to send; otherwise soft-iWARP sometimes ends the connection.
func (p *peer) speak() error {
	if p.link != answered || p.seen == 0 {
		return nil
	}
	p.link = connected
	if p.world.err != nil {
		return nil
	}
	return p.begin()
}

// begin continues with what has waited for the connection.
func (p *peer) begin() error {
	p.world.stir()
	p.world.trim()
	return p.pump() // the side that accepts may have received offers before the event that it is connected
}

// bank has the event dispatchers that several endpoints share.
type bank struct {
	requests    *udat.EVD // completions of sends and of RDMA operations
	connections *udat.EVD
	used        int // endpoints that use it
}

// endpointsPerBank is how many endpoints share a bank. It leaves room for connection attempts that were given up.
const endpointsPerBank = 32

// bank returns a bank with room for another endpoint.
func (w *World) bank() (*bank, error) {
	for _, b := range w.banks {
		if b.used < endpointsPerBank {
			return b, nil
		}
	}
	n := min(endpointsPerBank, 2*len(w.peers)+2)
	b := &bank{}
	var err error
	if b.requests, err = w.dispatcher(n*w.attr.MaxRequestDTOs, udat.EVDDTO); err != nil {
		return nil, err
	}
	if b.connections, err = w.dispatcher(4*n, udat.EVDConnection); err != nil {
		return nil, err
	}
	b.used = endpointsPerBank - n
	w.banks = append(w.banks, b)
	return b, nil
}

// dispatcher creates an event dispatcher whose events wake a rank that sleeps.
func (w *World) dispatcher(length int, flags udat.EVDFlags) (*udat.EVD, error) {
	return udat.CreateEVD(w.ia, length, w.cno, flags)
}
