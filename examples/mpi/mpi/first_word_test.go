package mpi

import (
	"testing"

	"github.com/goudat/goudat/udat/udattest"
)

// A rank that has accepted a connection sends nothing before the other side has, even if it has the event that it is
// connected.
func TestCallerSendsFirst(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			caller, called := deafPair(t, adapter)
			outgoing := Isend(called.Comm, []int{1}, 0, 0)
			incoming := Irecv(caller.Comm, make([]int, 1), 1, 0)
			caller.mu.Lock()
			err := caller.peers[1].reach()
			caller.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			p := called.peers[0]
			until(t, called, func() bool { return p.link > accepting })
			for range slowTurns {
				until(t, called, func() bool { return true })
			}
			if p.posted != 0 {
				t.Errorf("%d operations were posted", p.posted)
			}
			until(t, caller, func() bool { return caller.peers[1].link == connected })
			until(t, called, func() bool { return outgoing.done })
			until(t, caller, func() bool { return incoming.done })
		})
	}
}

// deafPair returns two ranks that are not connected. They make progress only in until.
func deafPair(t *testing.T, adapter string) (a, b *World) {
	t.Helper()
	cards := make([]card, 2)
	var made [2]*World
	for rank := range made {
		w := newWorld(rank, 2, Options{})
		w.forget = func() bool { return true }
		t.Cleanup(func() {
			if err := w.free(); err != nil {
				t.Error(err)
			}
		})
		if err := w.open(adapter); err != nil {
			t.Fatal(err)
		}
		if err := w.listen(&cards[rank]); err != nil {
			t.Fatal(err)
		}
		w.cards, w.driven = cards, true
		made[rank] = w
	}
	return made[0], made[1]
}
