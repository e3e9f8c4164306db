package mpi

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// numbersFrom returns contents in which no piece equals another.
func numbersFrom(first, count int) []uint8 {
	numbers := make([]uint8, count)
	for i := range numbers {
		numbers[i] = uint8(first + i + i>>8 + i>>16)
	}
	return numbers
}

// Messages of 0 bytes to 8 MiB arrive whole, whether or not they are expected.
func TestSizes(t *testing.T) { runRanks(t, 2, "sizes") }

func sizesTask(w *World) error {
	peer := 1 - w.Rank()
	for _, reads := range []int{softwareReads, mostReads} {
		w.mu.Lock()
		w.readsAtOnce = reads
		w.mu.Unlock()
		for i, size := range []int{0, 1, 1000, eagerLimit - 1, eagerLimit, eagerLimit + 1, 64 << 10, pieceSize, pieceSize + 1, mostReads*pieceSize + 2*pieceSize, 8 << 20} {
			// Even messages are sent first and received later; odd ones have a receive when they arrive.
			sent, got := numbersFrom(i+w.Rank(), size), make([]uint8, size+1)
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
			if err != nil || status != (Status{peer, i, size}) || !slices.Equal(got[:size], numbersFrom(i+peer, size)) || got[size] != 0 {
				return fmt.Errorf("%d bytes, %d reads at once: got %+v, %w, or wrong contents", size, reads, status, err)
			}
		}
	}
	return nil
}

// TestPair tests what two ranks do with each other and with themselves.
func TestPair(t *testing.T) { runRanks(t, 2, "pair") }

func pairTask(w *World) error {
	for _, step := range []struct {
		name string
		do   func(*World) error
	}{{"to oneself", toOneself}, {"misfits", misfits}, {"probes", probes}, {"arguments", arguments}} {
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
		sent, got := numbersFrom(1, size), make([]uint8, size)
		check(Send(w.Comm, sent, w.Rank(), 1))
		clear(sent) // it must have been copied
		if status, err := Recv(w.Comm, got, AnySource, AnyTag); err != nil || status != (Status{w.Rank(), 1, size}) || !slices.Equal(got, numbersFrom(1, size)) {
			return fmt.Errorf("%d bytes: got %+v, %w, or wrong contents", size, status, err)
		}
	}
	return nil
}

// Messages that are too long, or have another kind of number, are one error each, and those after them are intact.
func misfits(w *World) error {
	for _, length := range []int{10, 100000} {
		sent := numbersFrom(0, length)
		if w.Rank() == 0 {
			check(errors.Join(Send(w.Comm, sent, 1, 0), Send(w.Comm, []int64{42}, 1, 0), Send(w.Comm, sent, 1, 0), Send(w.Comm, sent, 1, 0)))
			continue
		}
		short, next := make([]uint8, length/2+1), []int64{7}
		status, err := Recv(w.Comm, short[:length/2], 0, 0)
		if !errors.Is(err, ErrTruncated) || status.Count != length || !slices.Equal(short[:length/2], sent[:length/2]) || short[length/2] != 0 {
			return fmt.Errorf("%d bytes: got %+v, %w, or wrong contents", length, status, err)
		}
		if _, err := Recv(w.Comm, next, 0, 0); err != nil || next[0] != 42 {
			return fmt.Errorf("after %d bytes: got %v, %w", length, next, err)
		}
		if status, err := Recv[uint8](w.Comm, nil, 0, 0); !errors.Is(err, ErrTruncated) || status.Count != length {
			return fmt.Errorf("%d bytes for an empty buffer: got %+v, %w", length, status, err)
		}
		if status, err := Recv(w.Comm, next, 0, 0); !errors.Is(err, ErrType) || status.Count != length || next[0] != 42 {
			return fmt.Errorf("%d bytes for another kind of number: got %+v, %v, %w", length, status, next, err)
		}
	}
	return nil
}

// Probes and receives with wildcards find any message, and report its source and tag.
func probes(w *World) error {
	if _, there, err := Iprobe(w.Comm, AnySource, AnyTag); there || err != nil {
		return fmt.Errorf("with no message: %v, %w", there, err)
	}
	check(Barrier(w.Comm))
	peer := 1 - w.Rank()
	for tag := range 3 {
		check(Send(w.Comm, []complex64{complex(float32(tag), 1)}, peer, tag))
	}
	for _, want := range []struct{ ask, tag int }{{2, 2}, {AnyTag, 0}, {AnyTag, 1}} {
		probed, err := Probe(w.Comm, AnySource, want.ask)
		found, there, err2 := Iprobe(w.Comm, peer, want.ask)
		got := []complex64{0}
		status, err3 := Recv(w.Comm, got, AnySource, want.ask)
		if s := (Status{peer, want.tag, 1}); probed != s || found != s || status != s || !there || real(got[0]) != float32(want.tag) {
			return fmt.Errorf("asked for tag %d: got %+v, %+v, %+v and %v, %w", want.ask, probed, found, status, got, errors.Join(err, err2, err3))
		}
	}
	return nil
}

func arguments(w *World) error {
	c, one := w.Comm, []int{1}
	_, probed := Probe(c, 2, 0)
	_, _, iprobed := Iprobe(c, 0, -2)
	_, received := Recv(c, one, 0, -2)
	_, exchanged := Sendrecv(c, one, 2, 0, one, 2, 0)
	for name, err := range map[string]error{
		"Send to rank 2":         Send(c, one, 2, 0),
		"Send to rank -1":        Send(c, one, AnySource, 0),
		"Send with tag -1":       Send(c, one, 0, AnyTag),
		"Recv with tag -2":       received,
		"Sendrecv with rank 2":   exchanged,
		"Probe of rank 2":        probed,
		"Iprobe of tag -2":       iprobed,
		"Bcast from rank 2":      Bcast(c, one, 2),
		"Reduce to rank -1":      Reduce(c, one, one, Sum, -1),
		"Reduce to no numbers":   Reduce(c, one, nil, Sum, w.Rank()),
		"Reduce by nothing":      Reduce(c, one, one, nil, 0),
		"Allreduce to none":      Allreduce(c, one, nil, Sum),
		"Allreduce by nothing":   Allreduce(c, one, one, nil),
		"Gather to one number":   Gather(c, one, one, w.Rank()),
		"Gather to rank 2":       Gather(c, one, one, 2),
		"Allgather to one":       Allgather(c, one, one),
		"Alltoall of one number": Alltoall(c, one, one),
	} {
		if !errors.Is(err, ErrArgument) {
			return fmt.Errorf("%s: got %w", name, err)
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
		must(Sendrecv(w.Comm, out[i:n], peer, i, in[:n-i], peer, i))
	}
	if s := w.Stats(); s.Registered != 2 || s.Found != 2*rounds-2 {
		return fmt.Errorf("memory was registered %d times, and was registered already %d times", s.Registered, s.Found)
	}
	const long = 8 << 20
	out = make([]uint8, long)
	for range keptRegistered/long + 2 {
		must(Sendrecv(w.Comm, out, peer, 0, make([]uint8, long), peer, 0))
		if s := w.registrations.Stats(); s.IdleBytes > keptRegistered {
			return fmt.Errorf("%d bytes stay registered", s.IdleBytes)
		}
	}
	if s := w.registrations.Stats(); s.Evictions == 0 {
		return fmt.Errorf("nothing was evicted")
	}
	// Collective operations register their own memory the first time only.
	mine, sum := make([]int, 4*eagerLimit), make([]int, 4*eagerLimit)
	var before, after Stats
	for range 3 {
		before = w.Stats()
		check(Allreduce(w.Comm, mine, sum, Sum))
		after = w.Stats()
	}
	if after.Registered != before.Registered || after.Found == before.Found {
		return fmt.Errorf("Allreduce registers again: %+v after %+v", after, before)
	}
	return nil
}
