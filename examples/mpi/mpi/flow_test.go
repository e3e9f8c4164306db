package mpi

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// All messages can go through the rings, and all can go as events, whatever the machine would choose.
func TestRingTraffic(t *testing.T)  { runRanks(t, 4, "ring traffic") }
func TestEventTraffic(t *testing.T) { runRanks(t, 4, "event traffic") }

func trafficBy(w *World, by ways) error {
	w.mu.Lock()
	w.ways = by
	before := w.stats
	w.mu.Unlock()
	if err := traffic(w); err != nil {
		return err
	}
	after := w.Stats()
	short, eager := after.Short-before.Short, after.Eager-before.Eager
	if by == byRings && short < eager || by == byEvents && eager < 20 {
		return fmt.Errorf("%d messages went through rings and %d as events", short, eager)
	}
	if after.Offered == 0 {
		return fmt.Errorf("no message was offered")
	}
	return nil
}

// littleKept is a small limit on kept messages, which ranks reach soon.
const littleKept = 16 << 10

func keepLittle(w *World) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep = littleKept
}

// A receiver that does something else limits its senders, not its memory.
func TestSlowReceiver(t *testing.T) { runRanks(t, 4, "slow receiver") }

func slowReceiver(w *World) error {
	keepLittle(w)
	if err := Barrier(w.Comm); err != nil {
		return err
	}
	for _, length := range []int{8, 1000, 8000} {
		// The sum of what a receiver keeps, what it has granted, and what is in the ring.
		most := 2*littleKept/(length+keptMessage) + mostGranted + ringSize(4)/ringUnit + 10
		messages := most + 100
		if w.Rank() != 0 {
			var sent atomic.Int32
			done := make(chan error, 1)
			go func() {
				for i := range messages {
					if err := Send(w.Comm, numbersFrom(i, length), 0, length); err != nil {
						done <- err
						return
					}
					sent.Add(1)
				}
				done <- nil
			}()
			// Rank 0 receives none of them before all ranks are stuck with a message that they have offered.
			if err := w.awaitState(func() bool { return len(w.peers[0].offers) > 0 || int(sent.Load()) > most }); err != nil {
				return err
			}
			if n := int(sent.Load()); n > most {
				return fmt.Errorf("%d messages of %d bytes were sent to a rank that receives none", n, length)
			}
			if err := Send(w.Comm, []int{1}, (w.Rank()%3)+1, 1); err != nil { // ranks 1 to 3 tell each other
				return err
			}
			if _, err := Recv(w.Comm, []int{0}, AnySource, 1); err != nil {
				return err
			}
			if err := Send(w.Comm, []int{1}, 0, 2); err != nil {
				return err
			}
			if err := <-done; err != nil {
				return err
			}
			if err := Barrier(w.Comm); err != nil {
				return err
			}
			continue
		}
		// It computes until it has told all of them that it keeps too much.
		if err := w.awaitState(func() bool {
			return !slices.ContainsFunc(w.peers[1:], func(p *peer) bool { return !p.line.full })
		}); err != nil {
			return err
		}
		for range w.Size() - 1 {
			if _, err := Recv(w.Comm, []int{0}, AnySource, 2); err != nil {
				return err
			}
		}
		if err := w.checkKept(2*mostKept + ringSize(4) + mostGranted*slotSize); err != nil {
			return err
		}
		for i := range messages {
			for from := 1; from < w.Size(); from++ {
				got := make([]uint8, length)
				if _, err := Recv(w.Comm, got, from, length); err != nil {
					return err
				}
				if !slices.Equal(got, numbersFrom(i, length)) {
					return fmt.Errorf("message %d of %d bytes from rank %d has wrong contents", i, length, from)
				}
			}
		}
		if err := Barrier(w.Comm); err != nil {
			return err
		}
	}
	return nil
}

// awaitState waits for a state that no event reports, and makes no progress meanwhile.
func (w *World) awaitState(there func() bool) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		w.mu.Lock()
		done, err := there(), w.err
		w.mu.Unlock()
		if done || err != nil {
			return err
		}
	}
	return errors.New("what was waited for does not come")
}

// checkKept checks how much this rank keeps of each peer.
func (w *World) checkKept(most int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.peers[1:] {
		if p.kept > most {
			return fmt.Errorf("%d bytes from rank %d are kept, want at most %d", p.kept, p.rank, most)
		}
	}
	return nil
}

// A receive finds its message after any number of others that have no receive yet.
func TestPressure(t *testing.T) { runRanks(t, 2, "pressure") }

func pressure(w *World) error {
	keepLittle(w)
	const unwanted = 200
	if w.Rank() == 0 {
		var requests []*Request
		for i := range unwanted {
			requests = append(requests, Isend(w.Comm, numbersFrom(i, 1000), 1, 1))
		}
		requests = append(requests, Isend(w.Comm, []int{42}, 1, 2))
		_, err := Waitall(requests...)
		return err
	}
	var wanted [1]int
	if _, err := Recv(w.Comm, wanted[:], 0, 2); err != nil || wanted[0] != 42 {
		return fmt.Errorf("got %v, %w", wanted, err)
	}
	got := make([]uint8, 1000)
	for i := range unwanted {
		if _, err := Recv(w.Comm, got, 0, 1); err != nil || !slices.Equal(got, numbersFrom(i, 1000)) {
			return fmt.Errorf("message %d has wrong contents, or %w", i, err)
		}
	}
	return nil
}
