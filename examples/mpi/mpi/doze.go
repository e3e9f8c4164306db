package mpi

import "encoding/binary"

// A message in a ring makes no event, and does not wake who sleeps. So a rank that
// falls asleep says so, in its lines, and the peers send eager messages, until they
// hear from it again. A message may have been on its way into the ring meanwhile:
// its sender, which sees that it was not read, sends an eager one behind it.
//
// What remains is a sender that no longer looks, since it sleeps or computes itself,
// when it is told. That is why naps end by themselves.

// doze is what a line says of the sleep of its rank.
type doze struct {
	asleep bool
	// sent is how many messages the rank had sent to the peer when it fell asleep: with
	// one more it is awake.
	sent uint32
}

// put writes it to a word of a line.
func (d doze) put(b []byte) {
	binary.LittleEndian.PutUint32(b, d.sent)
	if d.asleep {
		b[4] = 1
	}
}

func parseDoze(b []byte) doze { return doze{b[4] != 0, binary.LittleEndian.Uint32(b)} }

// doze tells the peers that this rank falls asleep, unless they know. One that has
// no room for that hears of it at the end of a nap.
func (w *World) doze() {
	for _, p := range w.linked {
		now := doze{asleep: true, sent: p.messagesOut}
		if p.line.doze == now || p.link != connected || p.outstanding() >= w.depth {
			continue
		}
		p.line.doze = now
		if err := p.tellLine(p.signal()); err != nil {
			p.lose(err)
		}
	}
}

// goesOut counts a message to the peer, which takes this rank for awake then. One
// who sleeps here has to tell it again.
func (p *peer) goesOut() {
	p.messagesOut++
	p.world.rouse()
}

// asleep reports whether the peer was asleep when it was heard of last.
func (p *peer) asleep() bool { return p.doze.asleep && !later(p.messagesIn, p.doze.sent) }

// ways are those by which short messages go.
type ways int

const (
	fitting  ways = iota
	byRings       // whatever the peer does
	byEvents      // likewise
)

// wantsEvent reports whether a message to the peer is to wake it.
func (p *peer) wantsEvent() bool {
	switch p.world.ways {
	case byRings:
		return false
	case byEvents:
		return true
	}
	return p.asleep()
}

// wakeUp wakes a peer that has fallen asleep while a message was on its way into the
// ring.
func (p *peer) wakeUp() error {
	if p.woken || !p.asleep() || p.out.written == p.out.consumed || p.farewell != staying {
		return nil // a peer that is asked to part is sent nothing more
	}
	_, err := p.sendEager(&header{kind: wakeMessage}, nil)
	return err
}
