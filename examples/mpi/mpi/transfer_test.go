package mpi

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// Messages of 0 bytes to 8 MiB arrive whole, whether or not they are expected.
func TestSizes(t *testing.T) { runRanks(t, 2, "sizes") }

// numbersFrom returns contents in which no piece equals another.
func numbersFrom(first, count int) []uint8 {
	numbers := make([]uint8, count)
	for i := range numbers {
		numbers[i] = uint8(first + i + i>>8 + i>>16)
	}
	return numbers
}

func sizesTask(w *World) error {
	for _, reads := range []int{softwareReads, mostReads} {
		w.mu.Lock()
		w.readsAtOnce = reads
		w.mu.Unlock()
		if err := exchangeSizes(w); err != nil {
			return fmt.Errorf("%d reads at once: %w", reads, err)
		}
	}
	return nil
}

func exchangeSizes(w *World) error {
	peer := 1 - w.Rank()
	for i, size := range []int{0, 1, 1000, eagerLimit - 1, eagerLimit, eagerLimit + 1, 64 << 10, pieceSize, pieceSize + 1, mostReads*pieceSize + 2*pieceSize} {
		// Even messages are sent first and received later; odd ones have a receive when they arrive.
		got := make([]uint8, size+1)
		sent := numbersFrom(i+w.Rank(), size)
		var status Status
		var err error
		if i%2 == 0 {
			outgoing := Isend(w.Comm, sent, peer, i)
			if _, err = Probe(w.Comm, peer, i); err != nil {
				return err
			}
			status, err = Recv(w.Comm, got, peer, i)
			_, err2 := outgoing.Wait()
			err = errors.Join(err, err2)
		} else {
			status, err = Sendrecv(w.Comm, sent, peer, i, got, peer, i)
		}
		if err != nil {
			return fmt.Errorf("%d bytes: %w", size, err)
		}
		if status != (Status{peer, i, size}) || !slices.Equal(got[:size], numbersFrom(i+peer, size)) || got[size] != 0 {
			return fmt.Errorf("%d bytes: got %+v, or wrong contents", size, status)
		}
	}
	const longest = 8 << 20
	if w.Rank() == 0 {
		return Send(w.Comm, numbersFrom(0, longest), 1, 0)
	}
	got := make([]uint8, longest)
	if _, err := Recv(w.Comm, got, 0, 0); err != nil || !slices.Equal(got, numbersFrom(0, longest)) {
		return fmt.Errorf("%d bytes: %w, or wrong contents", longest, err)
	}
	return nil
}

// TestPair tests what two ranks do with each other and with themselves.
func TestPair(t *testing.T) { runRanks(t, 2, "pair") }

func pairTask(w *World) error {
	for _, step := range []struct {
		name string
		do   func(*World) error
	}{
		{"to oneself", toOneself}, {"truncation", truncation}, {"other kinds", otherKinds},
		{"Iprobe", iprobe}, {"arguments", arguments}, {"wildcards", wildcards},
	} {
		if err := step.do(w); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if err := Barrier(w.Comm); err != nil {
			return fmt.Errorf("the barrier after %s: %w", step.name, err)
		}
	}
	return nil
}

func toOneself(w *World) error {
	for _, size := range []int{0, 5, 100000} {
		sent := numbersFrom(1, size)
		if err := Send(w.Comm, sent, w.Rank(), 1); err != nil {
			return err
		}
		clear(sent) // it must have been copied
		got := make([]uint8, size)
		status, err := Recv(w.Comm, got, AnySource, AnyTag)
		if err != nil {
			return err
		}
		if status != (Status{w.Rank(), 1, size}) || !slices.Equal(got, numbersFrom(1, size)) {
			return fmt.Errorf("%d bytes: got %+v, or wrong contents", size, status)
		}
	}
	return nil
}

// A message that is too long is one error, and those after it are intact.
func truncation(w *World) error {
	lengths := []int{10, 100000}
	if w.Rank() == 0 {
		for _, length := range lengths {
			numbers := numbersFrom(0, length)
			if err := errors.Join(Send(w.Comm, numbers, 1, 0), Send(w.Comm, []int64{42}, 1, 0), Send(w.Comm, numbers, 1, 0)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, length := range lengths {
		short := make([]uint8, length/2+1)
		status, err := Recv(w.Comm, short[:length/2], 0, 0)
		if !errors.Is(err, ErrTruncated) || status.Count != length {
			return fmt.Errorf("%d bytes: got %+v and %v", length, status, err)
		}
		if !slices.Equal(short[:length/2], numbersFrom(0, length/2)) || short[length/2] != 0 {
			return fmt.Errorf("%d bytes: the buffer has wrong contents", length)
		}
		var next [1]int64
		if _, err := Recv(w.Comm, next[:], 0, 0); err != nil || next[0] != 42 {
			return fmt.Errorf("after %d bytes: got %v and %v", length, next, err)
		}
		if status, err := Recv[uint8](w.Comm, nil, 0, 0); !errors.Is(err, ErrTruncated) || status.Count != length {
			return fmt.Errorf("%d bytes for an empty buffer: got %+v and %v", length, status, err)
		}
	}
	return nil
}

// Numbers are not received as numbers of another kind.
func otherKinds(w *World) error {
	for _, count := range []int{3, 5000} {
		if w.Rank() == 0 {
			if err := Send(w.Comm, make([]float64, count), 1, 0); err != nil {
				return err
			}
			continue
		}
		got := []int64{7}
		status, err := Recv(w.Comm, got, 0, 0)
		if !errors.Is(err, ErrType) || status.Count != count || got[0] != 7 {
			return fmt.Errorf("%d numbers: got %+v, %v and %v", count, status, got, err)
		}
	}
	return nil
}

func iprobe(w *World) error {
	if _, there, err := Iprobe(w.Comm, AnySource, AnyTag); there || err != nil {
		return fmt.Errorf("with no message: %v, %v", there, err)
	}
	if err := Barrier(w.Comm); err != nil {
		return err
	}
	peer := 1 - w.Rank()
	if err := Send(w.Comm, []complex64{1i, 2}, peer, 9); err != nil {
		return err
	}
	if _, err := Probe(w.Comm, peer, 9); err != nil {
		return err
	}
	status, there, err := Iprobe(w.Comm, AnySource, AnyTag)
	if !there || err != nil || status != (Status{peer, 9, 2}) {
		return fmt.Errorf("with a message: %+v, %v, %v", status, there, err)
	}
	_, err = Recv(w.Comm, make([]complex64, 2), peer, 9)
	return err
}

func arguments(w *World) error {
	one := []int{1}
	_, probed := Probe(w.Comm, 2, 0)
	_, _, iprobed := Iprobe(w.Comm, 0, -2)
	_, received := Recv(w.Comm, one, 0, -2)
	_, exchanged := Sendrecv(w.Comm, one, 2, 0, one, 2, 0)
	for name, err := range map[string]error{
		"Send to rank 2":         Send(w.Comm, one, 2, 0),
		"Send to rank -1":        Send(w.Comm, one, AnySource, 0),
		"Send with tag -1":       Send(w.Comm, one, 0, AnyTag),
		"Recv with tag -2":       received,
		"Sendrecv with rank 2":   exchanged,
		"Probe of rank 2":        probed,
		"Iprobe of tag -2":       iprobed,
		"Bcast from rank 2":      Bcast(w.Comm, one, 2),
		"Reduce to rank -1":      Reduce(w.Comm, one, one, Sum, -1),
		"Reduce to no numbers":   Reduce(w.Comm, one, nil, Sum, w.Rank()),
		"Reduce by nothing":      Reduce(w.Comm, one, one, nil, 0),
		"Allreduce to none":      Allreduce(w.Comm, one, nil, Sum),
		"Allreduce by nothing":   Allreduce(w.Comm, one, one, nil),
		"Gather to one number":   Gather(w.Comm, one, one, w.Rank()),
		"Gather to rank 2":       Gather(w.Comm, one, one, 2),
		"Allgather to one":       Allgather(w.Comm, one, one),
		"Alltoall of one number": Alltoall(w.Comm, one, one),
	} {
		if !errors.Is(err, ErrArgument) {
			return fmt.Errorf("%s: got %v", name, err)
		}
	}
	return nil
}

// Receives with wildcards get any message, and report its source and tag.
func wildcards(w *World) error {
	peer := 1 - w.Rank()
	for tag := range 3 {
		if err := Send(w.Comm, []int{tag}, peer, tag); err != nil {
			return err
		}
	}
	var got [1]int
	for _, want := range []struct{ ask, tag int }{{2, 2}, {AnyTag, 0}, {AnyTag, 1}} {
		status, err := Recv(w.Comm, got[:], AnySource, want.ask)
		if err != nil || status != (Status{peer, want.tag, 1}) || got[0] != want.tag {
			return fmt.Errorf("asked for tag %d: got %+v, %v and %v", want.ask, status, got, err)
		}
	}
	return nil
}

// A rank that sends many messages before the other receives any runs out of credits many times, in both directions at
// once.
func TestFlood(t *testing.T) { runRanks(t, 2, "flood") }

func floodTask(w *World) error {
	const messages = 160
	peer := 1 - w.Rank()
	for i := range messages {
		if err := Send(w.Comm, []int{i}, peer, 0); err != nil {
			return err
		}
	}
	for i := range messages {
		var got [1]int
		if _, err := Recv(w.Comm, got[:], peer, 0); err != nil || got[0] != i {
			return fmt.Errorf("message %d: got %v, %v", i, got, err)
		}
	}
	// One way only, so that no message carries the credits back.
	for i := range messages {
		if w.Rank() == 0 {
			if err := Send(w.Comm, []int{i}, peer, 0); err != nil {
				return err
			}
			continue
		}
		var got [1]int
		if _, err := Recv(w.Comm, got[:], peer, 0); err != nil || got[0] != i {
			return fmt.Errorf("message %d one way: got %v, %v", i, got, err)
		}
	}
	return nil
}

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
