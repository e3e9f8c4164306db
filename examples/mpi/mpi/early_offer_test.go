package mpi

import (
	"errors"
	"slices"
	"testing"
)

// An offer that arrives before the event that this rank is connected is handled after it.
func TestEarlyOffer(t *testing.T) { runRanks(t, 4, "early offer") }

func init() { tasks["early offer"] = earlyOffer }

func earlyOffer(w *World) error {
	const length = 2 * eagerLimit
	switch w.Rank() {
	case 0:
		if _, err := Recv(w.Comm, []int{0}, 1, 0); err != nil { // rank 2 is ready
			return err
		}
		return Send(w.Comm, numbersFrom(0, length), 2, 0)
	case 1:
		if _, err := Sendrecv(w.Comm, []int{0}, 2, 0, []int{0}, 2, 0); err != nil {
			return err
		}
		if _, err := Recv(w.Comm, []int{0}, 2, 1); err != nil {
			return err
		}
		return Send(w.Comm, []int{0}, 0, 0)
	case 3:
		return nil
	}
	// The connection to rank 1 is there before this rank stops polling for events of connections.
	if _, err := Sendrecv(w.Comm, []int{0}, 1, 0, []int{0}, 1, 0); err != nil {
		return err
	}
	got := make([]uint8, length)
	request := Irecv(w.Comm, got, 0, 0)
	if err := Send(w.Comm, []int{0}, 1, 1); err != nil {
		return err
	}
	w.mu.Lock()
	sender := w.peers[0]
	for w.err == nil && len(sender.transfers) == 0 && sender.link != connected {
		// Look at everything except events of connections.
		w.empty(w.calls, (*World).callEvent)
		w.look(true, false)
	}
	deaf := sender.link == accepting
	w.mu.Unlock()
	if !deaf {
		return errors.New("rank 2 has heard of its connection though nothing told it")
	}
	if _, err := request.Wait(); err != nil {
		return err
	}
	if !slices.Equal(got, numbersFrom(0, length)) {
		return errors.New("other contents came than were sent")
	}
	return nil
}
