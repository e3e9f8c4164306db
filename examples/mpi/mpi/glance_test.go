package mpi

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// A program that calls Test or Iprobe in a loop leaves the processor to the others: more ranks than processors, or a
// goroutine of the same rank that waits.
func TestGlancing(t *testing.T) { runRanks(t, 4, "glancing") }

func init() { tasks["glancing"] = glancing }

func glancing(w *World) error {
	const rounds = 60
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
		glances := 0
		for range rounds {
			r := Ibarrier(w.Comm)
			for done := false; !done; glances++ {
				var err error
				if done, err = way.glance(r); err != nil {
					return err
				}
			}
		}
		if glances > rounds*mostGlances {
			return fmt.Errorf("%s in a loop: %d calls for %d barriers", way.name, glances, rounds)
		}
		if err := Barrier(w.Comm); err != nil {
			return err
		}
	}
	return besideGlances(w, rounds)
}

// mostGlances is how many calls a barrier may take on average. It takes up to 200. If they do not let others run, it takes
// thousands.
const mostGlances = 1000

// besideGlances has one goroutine in collective operations, and another that glances.
func besideGlances(w *World, rounds int) error {
	over := make(chan error, 1)
	r := Irecv(w.Comm, []int{0}, w.Rank(), 2)
	var glances atomic.Int64
	go func() {
		for ; ; glances.Add(1) {
			if _, done, err := r.Test(); done || err != nil {
				over <- err
				return
			}
		}
	}()
	for range rounds {
		if err := Barrier(w.Comm); err != nil {
			return err
		}
	}
	if n := int(glances.Load()); n > rounds*mostGlances {
		return fmt.Errorf("beside %d calls of Test: %d barriers", n, rounds)
	}
	if err := Send(w.Comm, []int{1}, w.Rank(), 2); err != nil {
		return err
	}
	return <-over
}
