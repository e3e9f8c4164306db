package mpi

import (
	"fmt"
	"testing"
)

func init() { tasks["same memory"] = sameMemory }

// Memory of long messages is registered once, however many use it. Registrations that have been idle for long make
// room for others.
func TestMemoryStaysRegistered(t *testing.T) { runRanks(t, 2, "same memory") }

func sameMemory(w *World) error {
	const length, rounds = 256 << 10, 20
	peer := 1 - w.Rank()
	out, in := numbersFrom(w.Rank(), length), make([]uint8, length)
	for i := range rounds {
		// Pieces of the memory count as registered, too.
		n := length - i*100
		if _, err := Sendrecv(w.Comm, out[i:n], peer, i, in[:n-i], peer, i); err != nil {
			return err
		}
	}
	if s := w.Stats(); s.Registered != 2 || s.Found != 2*rounds-2 {
		return fmt.Errorf("memory was registered %d times, and was registered already %d times", s.Registered, s.Found)
	}
	const long = 8 << 20
	out = make([]uint8, long)
	for range keptRegistered/long + 2 {
		if _, err := Sendrecv(w.Comm, out, peer, 0, make([]uint8, long), peer, 0); err != nil {
			return err
		}
		if s := w.registrations.Stats(); s.IdleBytes > keptRegistered {
			return fmt.Errorf("%d bytes stay registered", s.IdleBytes)
		}
	}
	if s := w.registrations.Stats(); s.Evictions == 0 {
		return fmt.Errorf("nothing was evicted")
	}
	return nil
}
