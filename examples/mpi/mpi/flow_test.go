package mpi

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

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
	check(Barrier(w.Comm))
	for _, length := range []int{8, 1000, 8000} {
		// The sum of what a receiver keeps, what it has granted, and what is in the ring.
		most := 2*littleKept/(length+keptMessage) + mostGranted + ringSize(4)/ringUnit + 10
		do := receiveLate
		if w.Rank() != 0 {
			do = sendMany
		}
		if err := errors.Join(do(w, length, most), Barrier(w.Comm)); err != nil {
			return fmt.Errorf("%d bytes: %w", length, err)
		}
	}
	return nil
}

// sendMany sends more to rank 0 than can be under way. Meanwhile the senders tell each other that they are stuck.
func sendMany(w *World, length, most int) error {
	var sent atomic.Int32
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < most+100 && err == nil; i++ {
			err = Send(w.Comm, numbersFrom(i, length), 0, length)
			sent.Add(1)
		}
		done <- err
	}()
	// Rank 0 receives none of them before all ranks are stuck with a message that they have offered.
	check(w.awaitState(func() bool { return len(w.peers[0].offers) > 0 || int(sent.Load()) > most }))
	if n := int(sent.Load()); n > most {
		return fmt.Errorf("%d messages were sent to a rank that receives none", n)
	}
	_, err := Sendrecv(w.Comm, []int{1}, w.Rank()%3+1, 1, []int{0}, AnySource, 1)
	return errors.Join(err, Send(w.Comm, []int{1}, 0, 2), <-done)
}

// receiveLate computes until it has told all senders that it keeps too much.
func receiveLate(w *World, length, most int) error {
	if err := w.awaitState(func() bool {
		return !slices.ContainsFunc(w.peers[1:], func(p *peer) bool { return !p.line.full })
	}); err != nil {
		return err
	}
	for range w.Size() - 1 {
		must(Recv(w.Comm, []int{0}, AnySource, 2))
	}
	kept := 0
	w.mu.Lock()
	for _, p := range w.peers[1:] {
		kept = max(kept, p.kept)
	}
	w.mu.Unlock()
	if kept > 2*mostKept+ringSize(4)+mostGranted*slotSize {
		return fmt.Errorf("%d bytes from a rank are kept", kept)
	}
	for i := range most + 100 {
		for from := 1; from < w.Size(); from++ {
			got := make([]uint8, length)
			if _, err := Recv(w.Comm, got, from, length); err != nil || !slices.Equal(got, numbersFrom(i, length)) {
				return fmt.Errorf("message %d from rank %d has wrong contents, or %w", i, from, err)
			}
		}
	}
	return nil
}

// awaitState waits for a state that no event reports, and makes no progress meanwhile.
func (w *World) awaitState(there func() bool) error {
	// It looks now and then, as nothing tells.
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
	must(Recv(w.Comm, []int{0}, 0, 2))
	got := make([]uint8, 1000)
	for i := range unwanted {
		if _, err := Recv(w.Comm, got, 0, 1); err != nil || !slices.Equal(got, numbersFrom(i, 1000)) {
			return fmt.Errorf("message %d has wrong contents, or %w", i, err)
		}
	}
	return nil
}
