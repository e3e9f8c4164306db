package mpi

import (
	"fmt"
	"testing"
	"time"
)

// A program that calls Test or Iprobe in a loop leaves the processor to the others: more ranks than processors, or a
// goroutine of the same rank that waits.
func TestGlancing(t *testing.T) { runRanks(t, 4, "glancing") }

func init() { tasks["glancing"] = glancing }

func glancing(w *World) error {
	const (
		rounds = 600
		bound  = 10 * time.Second
	)
	for _, way := range []struct {
		name   string
		glance func(r *Request) (bool, error)
	}{
		{"Test", func(r *Request) (bool, error) { _, done, err := r.Test(); return done, err }},
		{"Iprobe", func(r *Request) (bool, error) {
			if _, _, err := Iprobe(w.Comm, AnySource, 1); err != nil {
				return false, err
			}
			_, done, err := r.peek()
			return done, err
		}},
	} {
		began := time.Now()
		for round := range rounds {
			r := Ibarrier(w.Comm)
			for done := false; !done; {
				var err error
				if done, err = way.glance(r); err != nil {
					return err
				}
			}
			if time.Since(began) > bound {
				return fmt.Errorf("%s in a loop: %d rounds in %v", way.name, round, bound)
			}
		}
		if err := Barrier(w.Comm); err != nil {
			return err
		}
	}
	return besideGlances(w, rounds, bound)
}

// besideGlances has one goroutine in collective operations, and another that glances.
func besideGlances(w *World, rounds int, bound time.Duration) error {
	over := make(chan error, 1)
	r := Irecv(w.Comm, []int{0}, w.Rank(), 2)
	go func() {
		for {
			if _, done, err := r.Test(); done || err != nil {
				over <- err
				return
			}
		}
	}()
	began := time.Now()
	for round := range rounds {
		if err := Barrier(w.Comm); err != nil {
			return err
		}
		if time.Since(began) > bound {
			return fmt.Errorf("beside Test in a loop: %d rounds in %v", round, bound)
		}
	}
	if err := Send(w.Comm, []int{1}, w.Rank(), 2); err != nil {
		return err
	}
	return <-over
}
