package mpi

import (
	"errors"
	"fmt"
	"testing"
)

// A Fence or a Free that has the error of an accumulation to report on one rank ends on all, and has done its work.
func TestFaultAtFence(t *testing.T) { runRanks(t, 3, "window fault") }

// An accumulation at a rank that has no operation fails, and only that.
func TestWindowWithoutOperation(t *testing.T) { runRanks(t, 2, "window without operation") }

// Calls of other goroutines end with ErrFreed when Free begins.
func TestCallsWhileFree(t *testing.T) { runRanks(t, 2, "calls while free") }

func init() {
	tasks["window fault"] = windowFault
	tasks["window without operation"] = windowWithoutOperation
	tasks["calls while free"] = callsWhileFree
}

func windowFault(w *World) error {
	const culprit = 1
	win, err := CreateWindow(w.Comm, 1, func(there, given int) int {
		if given < 0 {
			panic("a fault of the program")
		}
		return given
	})
	if err != nil {
		return err
	}
	if err := faultAt(w, win, culprit, win.Fence); err != nil {
		return fmt.Errorf("Fence: %w", err)
	}
	if w.Rank() == 2 && win.Local[0] != 7 {
		return fmt.Errorf("after Fence, the number is %d", win.Local[0])
	}
	if err := faultAt(w, win, culprit, win.Free); err != nil {
		return fmt.Errorf("Free: %w", err)
	}
	if err := win.Put([]int{1}, 0, 0); !errors.Is(err, ErrFreed) || win.Local != nil {
		return fmt.Errorf("the window is not freed: %v", err)
	}
	return Barrier(w.Comm)
}

// faultAt has a rank accumulate at rank 0 what makes its operation panic, and write to rank 2.
func faultAt(w *World, win *Window[int], culprit int, end func() error) error {
	if w.Rank() != culprit {
		return end()
	}
	if err := errors.Join(win.Accumulate([]int{-1}, 0, 0), win.Put([]int{7}, 2, 0)); err != nil {
		return err
	}
	if err := end(); !errors.Is(err, ErrElsewhere) {
		return fmt.Errorf("the error is %v", err)
	}
	return nil
}

func windowWithoutOperation(w *World) error {
	combine := Sum[int]
	if w.Rank() == 1 {
		combine = nil
	}
	win, err := CreateWindow(w.Comm, 1, combine)
	if err != nil {
		return err
	}
	if w.Rank() == 0 {
		if err := win.Accumulate([]int{1}, 1, 0); err != nil {
			return err
		}
		if err := win.Flush(1); !errors.Is(err, ErrElsewhere) {
			return fmt.Errorf("the error is %v", err)
		}
	}
	if err := win.Free(); err != nil {
		return err
	}
	return Barrier(w.Comm)
}

func callsWhileFree(w *World) error {
	for range 20 {
		win, err := CreateWindow(w.Comm, slotSize, Sum[int])
		if err != nil {
			return err
		}
		other := 1 - w.Rank()
		long := make([]int, slotSize) // is written without a copy
		calls := map[string]func() error{
			"Put":        func() error { return win.Put([]int{1}, other, 0) },
			"a long Put": func() error { return win.Put(long, other, 0) },
			"Get":        func() error { return win.Get([]int{0}, other, 0) },
			"Accumulate": func() error { return win.Accumulate([]int{1}, other, 0) },
		}
		ends := make(chan error, len(calls))
		var began []chan struct{}
		for name, call := range calls {
			some := make(chan struct{})
			began = append(began, some)
			go func() {
				err := call()
				for close(some); err == nil; {
					err = call()
				}
				if !errors.Is(err, ErrFreed) {
					ends <- fmt.Errorf("%s: %w", name, err)
					return
				}
				ends <- nil
			}()
		}
		for _, some := range began {
			<-some
		}
		if err := win.Free(); err != nil {
			return err
		}
		for range calls {
			if err := <-ends; err != nil {
				return err
			}
		}
	}
	return Barrier(w.Comm)
}
