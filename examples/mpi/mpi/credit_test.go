package mpi

import (
	"math/rand/v2"
	"testing"
)

// side is one end of a connection without a device: what it wants to send, and
// what is on its way to it, each message with the credits in its header.
type side struct {
	credits
	wants    int
	incoming []uint16
}

// pump sends as a peer does.
func (s *side) pump(to *side) {
	for s.wants > 0 && s.spend() {
		s.wants--
		to.incoming = append(to.incoming, s.settle())
	}
	if s.due() && s.spendLast() {
		to.incoming = append(to.incoming, s.settle())
	}
}

// Two sides that send as much as they can, and take messages at random times,
// never send more than the other has posted receives for, and never get stuck.
func TestCredits(t *testing.T) {
	for depth := 4; depth <= slotCount; depth++ {
		for seed := range uint64(50) {
			random := rand.New(rand.NewPCG(seed, uint64(depth)))
			sides := []*side{{credits: newCredits(depth), wants: random.IntN(500)}, {credits: newCredits(depth), wants: random.IntN(2) * random.IntN(500)}}
			for {
				ready := sides[:0:0]
				for i, s := range sides {
					s.pump(sides[1-i])
					if len(sides[1-i].incoming) > depth {
						t.Fatalf("depth %d, seed %d: %d messages are under way", depth, seed, len(sides[1-i].incoming))
					}
				}
				for _, s := range sides {
					if len(s.incoming) > 0 {
						ready = append(ready, s)
					}
				}
				if len(ready) == 0 {
					break
				}
				s := ready[random.IntN(len(ready))]
				if !s.returned(s.incoming[0]) {
					t.Fatalf("depth %d, seed %d: %d credits of %d", depth, seed, s.mine, depth)
				}
				s.incoming = s.incoming[1:]
				s.posted()
			}
			if sides[0].wants+sides[1].wants > 0 {
				t.Fatalf("depth %d, seed %d: stuck with %d and %d messages to send, credits %+v and %+v",
					depth, seed, sides[0].wants, sides[1].wants, sides[0].credits, sides[1].credits)
			}
		}
	}
}

// A header cannot return more than there is.
func TestTooManyCredits(t *testing.T) {
	c := newCredits(4)
	if !c.spend() || !c.returned(1) || c.returned(1) {
		t.Error("more credits are returned than were spent")
	}
}
