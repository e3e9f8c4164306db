package mpi

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// An operation of the program that ends its goroutine, whichever that is, fails on all ranks. The rank's other
// goroutines continue.
func TestGoexit(t *testing.T) { runRanks(t, 3, "goexit") }

func init() { tasks["goexit"] = goexitTask }

// starters begin a sum. The operation may end the goroutine that begins it, one that waits, or the World's own.
var starters = map[string]func(c *Comm, operation func(a, b int) int) error{
	"a call": func(c *Comm, operation func(a, b int) int) error {
		failure := make(chan error, 1)
		go func() {
			err := fmt.Errorf("%w: the caller's goroutine", errGoexit)
			defer func() { failure <- err }()
			err = Allreduce(c, []int{1}, []int{0}, operation)
		}()
		return <-failure
	},
	"computing": func(c *Comm, operation func(a, b int) int) error {
		failure := make(chan error, 1)
		go func() {
			err := fmt.Errorf("%w: the caller's goroutine", errGoexit)
			defer func() { failure <- err }()
			request := Iallreduce(c, []int{1}, []int{0}, operation)
			for over := false; !over; runtime.Gosched() {
				_, over, _ = request.peek()
			}
			_, _, err = request.peek()
		}()
		return <-failure
	},
}

func goexitTask(w *World) error {
	for range 3 {
		for _, name := range []string{"a call", "computing"} {
			if err := goexit(w, starters[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return goexitAccumulate(w)
}

// goexit has the operation end its goroutine on the ranks that combine something.
func goexit(w *World, start func(c *Comm, operation func(a, b int) int) error) error {
	c, err := w.Comm.Dup()
	if err != nil {
		return err
	}
	err = start(c, func(a, b int) int {
		runtime.Goexit()
		return a
	})
	if !errors.Is(err, ErrPanicked) && !errors.Is(err, ErrElsewhere) || !strings.Contains(err.Error(), "has ended its goroutine") {
		return fmt.Errorf("the error is %v", err)
	}
	sum := []int{0}
	if err := Allreduce(c, []int{1}, sum, Sum); err != nil || sum[0] != c.Size() {
		return fmt.Errorf("a later sum is %v, %w", sum, err)
	}
	return c.Free()
}

// goexitAccumulate ends the goroutine for negative numbers.
func goexitAccumulate(w *World) error {
	win, err := CreateWindow(w.Comm, 1, func(there, given int) int {
		if given < 0 {
			runtime.Goexit()
		}
		return there + given
	})
	if err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = win.Accumulate([]int{-1}, w.Rank(), 0) // does not return
	}()
	<-over
	if err := win.Flush(w.Rank()); !errors.Is(err, ErrPanicked) {
		return fmt.Errorf("a Flush: %v", err)
	}
	if w.Rank() == 0 {
		if err := win.Accumulate([]int{-1}, 1, 0); err != nil {
			return err
		}
		if err := win.Flush(1); !errors.Is(err, ErrElsewhere) {
			return fmt.Errorf("a Flush of another rank: %v", err)
		}
		return errors.Join(Send(w.Comm, []int{1}, 1, 0), win.Free())
	}
	if w.Rank() == 1 {
		// This goroutine must not be the one that ends.
		for {
			w.mu.Lock()
			_, there := w.probe(0, 0)
			w.mu.Unlock()
			if there {
				break
			}
			runtime.Gosched()
		}
		if _, err := Recv(w.Comm, []int{0}, 0, 0); err != nil {
			return err
		}
	}
	return win.Free()
}
