package mpi

import (
	"slices"
	"time"

	"github.com/goudat/goudat/udat"
)

// Where the program has bounded the connections, a rank that has more parts with
// peers that it has not heard of for longest, and connects again when there is
// something to say. Both sides must have nothing under way, and so one asks, behind
// all that it has sent before, and the other one agrees, or refuses. What is
// sent meanwhile waits.

// farewell is how far a rank is in parting with a peer.
type farewell uint8

const (
	staying  farewell = iota
	toAsk             // this rank is about to ask
	asked             // it has asked
	toAgree           // the peer has asked, and this rank is about to agree
	toRefuse          // or to refuse
	agreed            // both have: the connection ends
)

// partPause is how long a peer that has refused is left alone.
const partPause = time.Second

// trim begins to part with peers if there are too many. The caller holds mu.
func (w *World) trim() {
	if w.mostConnections == 0 || w.err != nil || w.left {
		return
	}
	count := 0
	for _, p := range w.linked {
		if p.farewell == staying || p.farewell == toRefuse {
			count++
		}
	}
	for ; count > w.mostConnections; count-- {
		p := w.idlest()
		if p == nil {
			return
		}
		p.farewell = toAsk
		if err := p.pump(); err != nil {
			p.lose(err)
		}
	}
}

// idlest returns the peer to part with, nil if all are needed.
func (w *World) idlest() (found *peer) {
	for _, p := range w.linked {
		if p.link == connected && p.farewell == staying && !w.neighbor(p) && p.quiet() && time.Now().After(p.leaveAlone) &&
			(found == nil || p.heard < found.heard) {
			found = p
		}
	}
	return found
}

// neighbor reports whether the connection is one of those that watch connects.
func (w *World) neighbor(p *peer) bool {
	distance := max(p.rank-w.rank, w.rank-p.rank)
	return distance == 1 || distance == len(w.peers)-1
}

// tellParting sends what this rank has to say about parting.
func (p *peer) tellParting() error {
	h := header{kind: partMessage, number: p.number}
	next := asked
	switch p.farewell {
	case toAsk:
		if len(p.queue) > 0 {
			p.farewell = staying // there is something to say after all
			return nil
		}
	case toAgree:
		next = agreed
	case toRefuse:
		h.kind, next = stayMessage, staying
	default:
		return nil
	}
	// Behind it comes what tells that it has arrived.
	if !p.room(3) {
		p.world.blocked = true
		return nil
	}
	if sent, err := p.putInRing(&h, nil); err != nil || !sent {
		return err
	}
	p.farewell = next
	if next == staying {
		return nil
	}
	err := p.confirm()
	p.parting = p.posted
	if next == agreed && err == nil {
		p.agree()
	}
	return err
}

// asks takes the peer's wish to part.
func (p *peer) asks() {
	switch {
	case p.farewell == asked: // it agrees, or has asked at the same time
		p.farewell = agreed
		p.agree()
	case len(p.queue) == 0 && p.quiet():
		p.farewell = toAgree
	default:
		p.farewell = toRefuse
	}
}

// stays takes the peer's refusal.
func (p *peer) stays() {
	if p.farewell == asked {
		p.farewell = staying
		p.leaveAlone = time.Now().Add(partPause)
	}
}

// agree takes note that both sides have agreed: nothing but the end of the connection comes.
func (p *peer) agree() {
	p.link = parted
	p.silent = 0
}

// ready reports whether something that the peer does not see may begin: an RDMA
// operation on a window.
func (p *peer) ready() bool {
	if p.link == idle {
		if err := p.reach(); err != nil {
			p.lose(err)
		}
	}
	return p.link == connected && p.farewell == staying
}

// disconnect ends a connection that both have parted with, as soon as what was said
// is known to have arrived. Lines that were written behind it say nothing more, and
// may complete without an event.
func (p *peer) disconnect() {
	if p.link != parted || p.leaving || later(p.parting, p.delivered) {
		return
	}
	p.leaving = true
	w, ep := p.world, p.ep
	w.work.Add(1)
	go func() { // it may take long
		defer w.work.Done()
		_ = ep.Disconnect(udat.CloseAbrupt) // it fails when the peer was first
	}()
}

// separate takes the end of a connection that both have parted with.
func (p *peer) separate() error {
	w := p.world
	ep := p.ep
	clear(p.memory.theirs())
	clear(p.memory.ours())
	w.areas.free = append(w.areas.free, p.memory)
	w.receives.spare += p.grant.open()
	p.bank.used--
	w.linked = slices.DeleteFunc(slices.Clone(w.linked), func(other *peer) bool { return other == p }) // some loop over the list
	w.stats.Parted++
	*p = peer{
		world: w, rank: p.rank, number: p.number, expected: p.expected, offered: p.offered, offers: p.offers,
		queue: p.queue, kept: p.kept, heard: p.heard, former: p.former + 1,
	}
	return ep.Free()
}

// conclude takes what the peer has said before it ended the connection: that it
// agrees, or what was wrong otherwise.
func (p *peer) conclude() {
	if !p.hasAsked() {
		return
	}
	w := p.world
	p.concluding = true
	w.empty(w.received, (*World).eagerEvent) // eager messages come before it
	var err error
	if p.hasAsked() {
		_, err = p.look()
	}
	p.concluding = false
	if err != nil {
		p.lose(err)
	}
}

// hasAsked reports whether the peer may end the connection at any time.
func (p *peer) hasAsked() bool { return p.link == connected && p.farewell == asked }

// ended reports whether the peer has ended the connection, as it may. The event
// of that says what becomes of it.
func (p *peer) ended() bool {
	if !p.hasAsked() {
		return false
	}
	status, err := p.ep.GetStatus()
	return err == nil && status.State != udat.EPStateConnected
}
