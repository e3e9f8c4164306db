package mpi

import "encoding/binary"

// A message in a ring makes no event, and does not wake a rank that sleeps. So a rank that falls asleep says so in
// its lines, and the peers send it eager messages until they receive from it again. A message may be on its way into
// the ring at that moment: its sender, which sees that it was not read, sends an eager one after it.
//
// One case remains: the sender no longer looks when it is told, because it sleeps or computes itself. That is why
// naps end by themselves.

// doze is what a line says about the sleep of its rank.
type doze struct {
	asleep bool
	// sent is how many messages the rank had sent to the peer when it fell asleep. Once it has sent one more, it is
	// awake.
	sent uint32
}

// put writes d to a word of a line.
func (d doze) put(b []byte) {
	binary.LittleEndian.PutUint32(b, d.sent)
	if d.asleep {
		b[4] = 1
	}
}

func parseDoze(b []byte) doze { return doze{b[4] != 0, binary.LittleEndian.Uint32(b)} }

// doze tells the peers that this rank falls asleep, unless they know. A peer whose endpoint has no room for that is
// told at the end of a nap. A rank that has slept for long also tells those who know, if it awaits another rank by now.
func (w *World) doze(long bool) {
	awaited := uint32(w.firstAwaited() + 1)
	for _, p := range w.linked {
		now := doze{asleep: true, sent: p.messagesOut}
		if p.line.notice != 0 || p.line.doze == now && (p.line.rank == awaited || !long) || p.link != connected || p.outstanding() >= w.depth {
			continue
		}
		p.line.doze, p.line.rank = now, awaited
		if err := p.tellLine(p.signal()); err != nil {
			p.lose(err)
		}
	}
}

// goesOut counts a message to the peer, which then takes this rank to be awake. It wakes a goroutine that sleeps
// here, which tells the peer again.
func (p *peer) goesOut() {
	p.messagesOut++
	p.world.rouse()
}

// asleep reports whether the peer was asleep according to what it sent last.
func (p *peer) asleep() bool { return p.doze.asleep && !later(p.messagesIn, p.doze.sent) }

// ways are how short messages are sent. Tests set them.
type ways int

const (
	fitting  ways = iota
	byRings       // through rings, also to peers that sleep
	byEvents      // as eager messages, also to peers that are awake
)

// wantsEvent reports whether a message to the peer has to wake it.
func (p *peer) wantsEvent() bool {
	switch p.world.ways {
	case byRings:
		return false
	case byEvents:
		return true
	}
	return p.asleep()
}

// wakeUp wakes a peer that has fallen asleep while a message was on its way into its ring.
func (p *peer) wakeUp() error {
	if p.woken || !p.asleep() || p.out.written == p.out.consumed || p.farewell != staying {
		return nil // nothing is sent to a peer that was asked to disconnect
	}
	_, err := p.sendEager(&header{kind: wakeMessage}, nil)
	return err
}
