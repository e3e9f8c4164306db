package mpi

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// An operation of the program runs without the lock, and its panic ends what it is for on all ranks, with an error that
// says so. Later calls work. A missing operation is an error.
func TestOperations(t *testing.T) {
	for _, ranks := range []int{2, 3, 5} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) { runRanks(t, ranks, "operations") })
	}
}

func init() { tasks["operations"] = operationsTask }

// reductions has the collective operations that combine numbers, and how many numbers they take for each rank.
var reductions = map[string]func(c *Comm, each int, operation func(a, b int) int) error{
	"Reduce": func(c *Comm, each int, operation func(a, b int) int) error {
		return Reduce(c, make([]int, each*c.Size()), make([]int, each*c.Size()), operation, c.Size()-1)
	},
	"Allreduce": func(c *Comm, each int, operation func(a, b int) int) error {
		return Allreduce(c, make([]int, each*c.Size()), make([]int, each*c.Size()), operation)
	},
	"ReduceScatter": func(c *Comm, each int, operation func(a, b int) int) error {
		counts := make([]int, c.Size())
		for i := range counts {
			counts[i] = each
		}
		return ReduceScatter(c, make([]int, each*c.Size()), make([]int, each), counts, operation)
	},
}

func operationsTask(w *World) error {
	// All ranks make the same calls in the same order.
	for _, name := range []string{"Reduce", "Allreduce", "ReduceScatter"} {
		reduce := reductions[name]
		if err := reduce(w.Comm, 1, nil); !errors.Is(err, ErrArgument) {
			return fmt.Errorf("%s without an operation: %v", name, err)
		}
		for _, each := range []int{1, 20_000} {
			if err := reduce(w.Comm, each, func(a, b int) int {
				_ = w.Stats() // needs the lock
				return a
			}); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for victim := range w.Size() {
				if err := panicking(w, victim, func(c *Comm, operation func(a, b int) int) error { return reduce(c, each, operation) }); err != nil {
					return fmt.Errorf("%s of %d numbers, whose operation panics on rank %d: %w", name, each, victim, err)
				}
			}
		}
	}
	return panickingAccumulate(w)
}

// panicking has an operation panic on a rank. That rank may not have to combine anything.
func panicking(w *World, victim int, do func(c *Comm, operation func(a, b int) int) error) error {
	c, err := w.Comm.Dup()
	if err != nil {
		return err
	}
	called := 0 // by one goroutine at a time
	failure := do(c, func(a, b int) int {
		if called++; c.Rank() == victim {
			panic("a fault of the program")
		}
		return a
	})
	panicked := c.Rank() == victim && called > 0
	switch {
	case panicked != errors.Is(failure, ErrPanicked):
		return fmt.Errorf("panicked: %v, the error is %v", panicked, failure)
	case failure != nil && !strings.Contains(failure.Error(), "a fault of the program"):
		return fmt.Errorf("the error is %v", failure)
	}
	results := []int{b2i(panicked), b2i(failure != nil)}
	if err := Allreduce(w.Comm, results, results, Sum); err != nil {
		return err
	}
	if results[0] != results[0]&1 || results[1] < results[0] {
		return fmt.Errorf("it panicked on %d ranks, and failed on %d", results[0], results[1])
	}
	// The same communicator works.
	sum := []int{0}
	if err := Allreduce(c, []int{1}, sum, Sum); err != nil || sum[0] != c.Size() {
		return fmt.Errorf("a later sum is %v, %w", sum, err)
	}
	return nil
}

// panickingAccumulate panics for negative numbers.
func panickingAccumulate(w *World) error {
	win, err := CreateWindow(w.Comm, 1, func(there, given int) int {
		_ = w.Stats()
		if given < 0 {
			panic("a fault of the program")
		}
		return there + given
	})
	if err != nil {
		return err
	}
	for target := range w.Size() {
		if err := win.Accumulate([]int{-1}, target, 0); err != nil {
			return err
		}
		want := ErrElsewhere
		if target == w.Rank() {
			want = ErrPanicked
		}
		if err := win.Flush(target); !errors.Is(err, want) || !strings.Contains(err.Error(), "a fault of the program") {
			return fmt.Errorf("accumulating at rank %d: %v", target, err)
		}
		if err := errors.Join(win.Accumulate([]int{1}, target, 0), win.Flush(target)); err != nil {
			return fmt.Errorf("accumulating after that: %w", err)
		}
	}
	if err := win.Fence(); err != nil {
		return err
	}
	if win.Local[0] != w.Size() {
		return fmt.Errorf("the sum is %d", win.Local[0])
	}
	return win.Free()
}
