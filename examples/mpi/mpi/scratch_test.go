package mpi

import (
	"errors"
	"fmt"
	"testing"
)

// Collective operations register memory the first time only. This includes the memory for what they combine.
func TestScratchStaysRegistered(t *testing.T) { runRanks(t, 4, "scratch") }

func init() { tasks["scratch"] = scratchTask }

func scratchTask(w *World) error {
	const length = 16 << 10 // numbers
	mine, all := make([]float64, length), make([]float64, length*w.Size())
	quarter := length / w.Size()
	operations := []func() error{
		func() error { return Allreduce(w.Comm, mine, all[:length], Sum) },
		func() error { return Reduce(w.Comm, mine, all[:length], Sum, 1) },
		func() error {
			return ReduceScatter(w.Comm, mine, all[:quarter], []int{quarter, quarter, quarter, quarter}, Sum)
		},
		func() error { return Allgather(w.Comm, mine, all) },
	}
	for _, limits := range []thresholds{{}, {reduce: 1 << 30, allreduce: 1 << 30, reduceScatter: 1 << 30, allgather: 1 << 30}} {
		setThresholds(w, limits)
		for i, operation := range operations {
			if err := operation(); err != nil {
				return err
			}
			before := w.Stats()
			for range 3 {
				if err := operation(); err != nil {
					return err
				}
			}
			if after := w.Stats(); after.Registered != before.Registered || after.Found == before.Found {
				return fmt.Errorf("thresholds %+v, operation %d: registered %d times after the first time, and found %d times", limits, i, after.Registered-before.Registered, after.Found-before.Found)
			}
		}
	}
	return nil
}

// Blocks are used again for the same size, and the World keeps no more than keptScratch bytes.
func TestScratch(t *testing.T) {
	var s scratch
	first := s.take(eagerLimit + 1)
	if len(first) != 2*eagerLimit/8 {
		t.Fatalf("a block for %d bytes has %d words", eagerLimit+1, len(first))
	}
	s.put(first)
	if other := s.take(4 * eagerLimit); &other[0] == &first[0] || len(other) != 4*eagerLimit/8 {
		t.Error("a block of the wrong size")
	}
	if again := s.take(2 * eagerLimit); &again[0] != &first[0] || s.kept != 0 || len(s.idle) != 0 {
		t.Errorf("another block, and %d bytes in %d blocks are idle", s.kept, len(s.idle))
	}
	for range 5 {
		s.put(make([]uint64, keptScratch/4/8))
	}
	if len(s.idle) != 4 || s.kept != keptScratch {
		t.Errorf("%d blocks and %d bytes stay, want 4 and %d", len(s.idle), s.kept, keptScratch)
	}
}

// An operation that has failed before it begins, because another rank has called a different one, ends once: its memory
// goes back once.
func TestScratchOfFailedOperation(t *testing.T) {
	w := newWorld(0, 1, Options{})
	s := w.schedule("a test", 0, kindOf[float64]())
	scratchFor[float64](s, eagerLimit)
	early := &message{envelope: envelope{w.collectiveContext(), 0, s.tag ^ 1<<purposeBits}}
	w.matcher.keep(early)
	if err := s.start().end(); !errors.Is(err, ErrMismatch) {
		t.Errorf("the operation ended with %v", err)
	}
	if len(w.scratch.idle) != 1 || w.pending != 0 {
		t.Errorf("%d blocks are idle, and %d requests pending, want 1 and 0", len(w.scratch.idle), w.pending)
	}
}
