package mpi

import (
	"errors"
	"fmt"
	"testing"
)

// Communicators and windows that goroutines create at the same time, from different communicators, are separate: each
// message is received on the communicator that it was sent on.
func TestCommsAtOnce(t *testing.T) { runRanks(t, 3, "comms at once") }

func init() { tasks["comms at once"] = commsAtOnce }

func commsAtOnce(w *World) error {
	const parents, rounds = 3, 40
	var from [parents]*Comm
	for i := range from {
		var err error
		if from[i], err = w.Dup(); err != nil {
			return err
		}
	}
	for round := range rounds {
		var made [parents]*Comm
		failures := make(chan error, parents)
		for i, parent := range from {
			go func() {
				var err error
				if i == 0 {
					var win *Window[int]
					if win, err = CreateWindow[int](parent, 1, nil); err == nil {
						err = win.Free()
					}
				}
				if err == nil {
					// The ranks of some are in reverse.
					made[i], err = parent.Split(0, (i-1)*parent.Rank())
				}
				failures <- err
			}()
		}
		var err error
		for range from {
			err = errors.Join(err, <-failures)
		}
		if err != nil {
			return err
		}
		if err := separate(made[:]); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

// separate sends a message on each communicator, and receives them in the opposite order.
func separate(comms []*Comm) error {
	var requests []*Request
	for i, c := range comms {
		requests = append(requests, Isend(c, []int{i}, (c.Rank()+1)%c.Size(), 0))
	}
	for i := len(comms) - 1; i >= 0; i-- {
		c := comms[i]
		got := []int{-1}
		if _, err := Recv(c, got, (c.Rank()-1+c.Size())%c.Size(), 0); err != nil {
			return err
		}
		if got[0] != i {
			return fmt.Errorf("communicator %d has received what was sent on %d", i, got[0])
		}
	}
	_, err := Waitall(requests...)
	return err
}
