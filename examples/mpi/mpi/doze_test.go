package mpi

import (
	"testing"
	"time"

	"github.com/goudat/goudat/udat/udattest"
)

// pair returns two connected ranks. They make progress only in until.
func pair(t *testing.T, adapter string) (a, b *World) {
	t.Helper()
	made := worlds(t, adapter, 2)
	arrived := make(chan error, 2)
	for _, w := range made {
		go func() { arrived <- Barrier(w.Comm) }()
	}
	for range made {
		if err := <-arrived; err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range made {
		w.mu.Lock()
		w.driven = true
		w.mu.Unlock()
		t.Cleanup(func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.driven = false
		})
	}
	return made[0], made[1]
}

// until lets a rank look for arrivals until something is true.
func until(t *testing.T, w *World, something func() bool) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for end := time.Now().Add(patience); !something(); w.pollAll() {
		if time.Now().After(end) {
			t.Fatal("the condition does not become true")
		}
	}
}

// deliver sends a message for which the receiver waits.
func deliver(t *testing.T, from, to *World) {
	t.Helper()
	incoming := Irecv(to.Comm, make([]int, 1), from.Rank(), 0)
	outgoing := Isend(from.Comm, []int{1}, to.Rank(), 0)
	until(t, from, func() bool { return outgoing.done })
	until(t, to, func() bool { return incoming.done })
}

func (w *World) fallAsleep() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doze(false)
}

// Messages to a rank that has said that it sleeps make events, until it has sent something again.
func TestMessagesToSleeper(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			a, b := pair(t, adapter)
			deliver(t, b, a)
			before := a.Stats()
			deliver(t, a, b)
			if now := a.Stats(); now.Short != before.Short+1 || now.Eager != before.Eager {
				t.Errorf("to a rank that is awake: %+v, before %+v", now, before)
			}
			b.fallAsleep()
			until(t, a, a.peers[1].asleep)
			before = a.Stats()
			deliver(t, a, b)
			if now := a.Stats(); now.Short != before.Short || now.Eager != before.Eager+1 {
				t.Errorf("to a rank that sleeps: %+v, before %+v", now, before)
			}
			deliver(t, b, a)
			before = a.Stats()
			deliver(t, a, b)
			if now := a.Stats(); now.Short != before.Short+1 || now.Eager != before.Eager {
				t.Errorf("to a rank that is awake again: %+v, before %+v", now, before)
			}
		})
	}
}

// A rank that falls asleep while a message is on its way into its ring is woken once.
func TestMessageCrossesSleep(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			a, b := pair(t, adapter)
			deliver(t, b, a)
			before := a.Stats()
			incoming := Irecv(b.Comm, make([]int, 1), 0, 0)
			if _, done, err := Isend(a.Comm, []int{1}, 1, 0).Test(); !done || err != nil {
				t.Fatal(done, err)
			}
			if now := a.Stats(); now.Short != before.Short+1 {
				t.Fatalf("the message did not go into the ring: %+v, before %+v", now, before)
			}
			b.fallAsleep()
			until(t, a, func() bool { return a.stats.Eager > before.Eager })
			until(t, b, func() bool { return incoming.done })
			for range 100 {
				b.fallAsleep()
				until(t, a, a.peers[1].asleep)
			}
			if now := a.Stats(); now.Eager != before.Eager+1 {
				t.Errorf("it was woken %d times", now.Eager-before.Eager)
			}
			// Nothing wakes it while it has read everything.
			deliver(t, b, a)
			b.fallAsleep()
			until(t, a, a.peers[1].asleep)
			if now := a.Stats(); now.Eager != before.Eager+1 {
				t.Error("it was woken without a reason")
			}
		})
	}
}

// The peer takes a rank that sends to be awake. So if another of its goroutines sleeps, sending wakes that goroutine.
func TestSendWakesSleeper(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			a, b := pair(t, adapter)
			deliver(t, b, a)
			roused := false
			a.mu.Lock()
			a.wake = func() { roused = true }
			a.mu.Unlock()
			if _, done, err := Isend(a.Comm, []int{1}, 1, 0).Test(); !done || err != nil {
				t.Fatal(done, err)
			}
			a.mu.Lock()
			a.wake = nil
			a.mu.Unlock()
			if !roused {
				t.Error("it still sleeps")
			}
			if _, _, err := Iprobe(b.Comm, 0, 0); err != nil {
				t.Fatal(err)
			}
			until(t, b, func() bool {
				_, there := b.probe(0, 0)
				return there
			})
		})
	}
}
