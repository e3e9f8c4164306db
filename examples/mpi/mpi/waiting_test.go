package mpi

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// A rank that waits long leaves the processor to others: it sleeps, and wakes to look by itself less and less often. The
// goroutine that makes progress for a rank that computes does not wake at all.
func TestLongWait(t *testing.T) { runRanks(t, 2, "long wait") }

func init() { tasks["long wait"] = longWait }

func longWait(w *World) error {
	const (
		wait       = 2 * time.Second
		mostSleeps = 40      // a rank needs about 20: each is half as long as all before it together
		mostTurns  = 100_000 // before it first sleeps
	)
	if err := Barrier(w.Comm); err != nil {
		return err
	}
	if w.Rank() == 0 {
		time.Sleep(wait)
		return Send(w.Comm, []int{1}, 1, 0)
	}
	resting := make(chan error, 1)
	go func() { resting <- w.awaitRest() }()
	sleepsBefore, turnsBefore := w.efforts()
	if _, err := Recv(w.Comm, []int{0}, 0, 0); err != nil {
		return err
	}
	sleeps, turns := w.efforts()
	sleeps, turns = sleeps-sleepsBefore, turns-turnsBefore
	if sleeps > mostSleeps || turns > mostTurns {
		return fmt.Errorf("in a wait of %v the rank has looked %d times, and slept %d times; want at most %d and %d", wait, turns, sleeps, mostTurns, mostSleeps)
	}
	return <-resting
}

// awaitRest waits until the goroutine that makes progress for a rank that computes waits for the one that drives.
func (w *World) awaitRest() error {
	for range 100 {
		w.mu.Lock()
		resting := w.driverLeft != nil
		w.mu.Unlock()
		if resting {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("the goroutine for ranks that compute wakes while another one drives")
}

// efforts returns how many times a rank has slept, and has looked at the rings.
func (w *World) efforts() (sleeps, turns uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats.Sleeps, uint64(w.turn)
}
