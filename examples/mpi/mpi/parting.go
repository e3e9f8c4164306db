package mpi

import (
	"slices"
	"time"

	"github.com/goudat/goudat/udat"
)

// If the program limits the connections, a rank that has more disconnects from the peers that it has not received
// from for longest, and connects again when there is something to send. Both sides must have nothing under way. So
// one side asks, after everything that it has sent before, and the other agrees or refuses. What is to be sent
// meanwhile waits.

// farewell is how far a rank is in disconnecting from a peer.
type farewell uint8

const (
	staying  farewell = iota
	toAsk             // this rank is about to ask
	asked             // it has asked
	toAgree           // the peer has asked, and this rank is about to agree
	toRefuse          // or is about to refuse
	agreed            // both sides agree: the connection ends
)

// partPause is how long this rank does not ask again after a peer has refused.
const partPause = time.Second

// trim begins to disconnect from peers if there are too many connections. The caller holds mu.
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

// idlest returns the peer to disconnect from, or nil if all are needed.
func (w *World) idlest() (found *peer) {
	for _, p := range w.linked {
		if p.link == connected && p.farewell == staying && !w.neighbor(p) && p.quiet() && time.Now().After(p.leaveAlone) &&
			(found == nil || p.heard < found.heard) {
			found = p
		}
	}
	return found
}

// neighbor reports whether watch has made the connection.
func (w *World) neighbor(p *peer) bool {
	distance := max(p.rank-w.rank, w.rank-p.rank)
	return distance == 1 || distance == len(w.peers)-1
}

// tellParting sends the next message of disconnecting, if there is one to send.
func (p *peer) tellParting() error {
	h := header{kind: partMessage, number: p.number}
	next := asked
	switch p.farewell {
	case toAsk:
		if len(p.queue) > 0 {
			p.farewell = staying // there is something to send after all
			return nil
		}
	case toAgree:
		next = agreed
	case toRefuse:
		h.kind, next = stayMessage, staying
	default:
		return nil
	}
	// The operations after it confirm that it has arrived.
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

// asks handles the peer's request to disconnect.
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

// stays handles the peer's refusal.
func (p *peer) stays() {
	if p.farewell == asked {
		p.farewell = staying
		p.leaveAlone = time.Now().Add(partPause)
	}
}

// agree records that both sides agree: nothing more arrives but the end of the connection.
func (p *peer) agree() {
	p.link = parted
	p.silent = 0
}

// ready reports whether an operation may begin that the peer does not notice: RDMA on a window.
func (p *peer) ready() bool {
	if p.link == idle {
		if err := p.reach(); err != nil {
			p.lose(err)
		}
	}
	return p.link == connected && p.farewell == staying
}

// disconnect ends the connection when both sides have agreed and the last message is known to have arrived. Lines
// that were written later have nothing new, and may complete without an event.
func (p *peer) disconnect() {
	if p.link != parted || p.leaving || later(p.parting, p.delivered) {
		return
	}
	p.leaving = true
	w, ep := p.world, p.ep
	w.work.Add(1)
	go func() { // it may block for long
		defer w.work.Done()
		_ = ep.Disconnect(udat.CloseAbrupt) // it fails if the peer was first
	}()
}

// separate handles the end of a connection that both sides have agreed to end.
func (p *peer) separate() error {
	w := p.world
	ep := p.ep
	clear(p.memory.theirs())
	clear(p.memory.ours())
	w.areas.free = append(w.areas.free, p.memory)
	w.receives.spare += p.grant.open()
	p.bank.used--
	w.linked = slices.DeleteFunc(slices.Clone(w.linked), func(other *peer) bool { return other == p }) // callers may be iterating over the list
	w.stats.Parted++
	*p = peer{
		world: w, rank: p.rank, number: p.number, expected: p.expected, offered: p.offered, offers: p.offers,
		queue: p.queue, kept: p.kept, heard: p.heard, former: p.former + 1,
	}
	return w.dismiss(ep)
}

// conclude handles what the peer sent before it ended the connection: that it agrees, or what went wrong.
func (p *peer) conclude() {
	if !p.hasAsked() {
		return
	}
	w := p.world
	p.concluding = true
	w.empty(w.received, (*World).eagerEvent) // eager messages were sent before it
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

// ended reports whether the peer has ended the connection after this rank has asked it to. The event of the
// disconnect says why.
func (p *peer) ended() bool {
	if !p.hasAsked() {
		return false
	}
	status, err := p.ep.GetStatus()
	return err == nil && status.State != udat.EPStateConnected
}
