package mpi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/goudat/goudat/examples/mpi/launch"
	"github.com/goudat/goudat/udat/udattest"
)

// Scan, Exscan and ReduceScatterBlock combine in the order of the ranks, also in place.
func TestScan(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) { runRanks(t, ranks, "scan") })
	}
}

func init() {
	tasks["scan"] = scanTask
	tasks["nobody"] = nobodyTask
	tasks["synchronous"] = synchronousTask
	tasks["matched"] = matchedTask
	tasks["several requests"] = severalRequests
	tasks["free"] = freeTask
	tasks["abort"] = func(w *World) error {
		if w.Rank() == 1 {
			w.Abort(7)
		}
		_, err := Recv(w.Comm, []int{0}, AnySource, 0)
		return err
	}
}

func scanTask(w *World) error {
	for _, length := range []int{0, 1, eagerLimit/8 + 1} {
		mine, sum, before := inputOf[int](w.Rank(), length), make([]int, length), make([]int, length)
		for rank := range w.Rank() + 1 {
			copy(before, sum)
			combine(sum, sum, inputOf[int](rank, length), Sum)
		}
		got := slices.Clone(mine)
		if err := Scan(w.Comm, got, got, Sum); err != nil || !slices.Equal(got, sum) {
			return fmt.Errorf("Scan of %d: %v, %w", length, head(got), err)
		}
		if err := Exscan(w.Comm, mine, got, Sum); err != nil || w.Rank() > 0 && !slices.Equal(got, before) || w.Rank() == 0 && !slices.Equal(got, sum) {
			return fmt.Errorf("Exscan of %d: %v, %w", length, head(got), err)
		}
		if err := Scan(w.Comm, mine, got, second); err != nil || !slices.Equal(got, mine) {
			return fmt.Errorf("Scan of %d in order: %v, %w", length, head(got), err)
		}
		if err := Exscan(w.Comm, mine, got, second); err != nil || w.Rank() > 0 && !slices.Equal(got, inputOf[int](w.Rank()-1, length)) {
			return fmt.Errorf("Exscan of %d in order: %v, %w", length, head(got), err)
		}
		if err := ReduceScatterBlock(w.Comm, slices.Repeat(mine, w.Size()), got, second); err != nil || !slices.Equal(got, inputOf[int](w.Size()-1, length)) {
			return fmt.Errorf("ReduceScatterBlock of %d: %v, %w", length, head(got), err)
		}
	}
	if err := Scan(w.Comm, []int{1}, []int{1}, nil); !errors.Is(err, ErrArgument) {
		return fmt.Errorf("Scan without an operation: %v", err)
	}
	return Barrier(w.Comm)
}

// Messages to ProcNull and from it end at once.
func TestProcNull(t *testing.T) { runRanks(t, 2, "nobody") }

func nobodyTask(w *World) error {
	c, numbers := w.Comm, []int{7}
	err := errors.Join(Send(c, numbers, ProcNull, 0), Ssend(c, numbers, ProcNull, 0), Isend(c, numbers, ProcNull, 0).end())
	status, err2 := Recv(c, numbers, ProcNull, AnyTag)
	probed, err3 := Probe(c, ProcNull, 3)
	message, _, err4 := Mprobe(c, ProcNull, 3)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return err
	}
	matched, err := Mrecv(message, numbers)
	if status != fromNobody || probed != fromNobody || matched != fromNobody || err != nil || numbers[0] != 7 {
		return fmt.Errorf("got %+v, %+v, %+v, %v, %w", status, probed, matched, numbers, err)
	}
	// The ends of a line.
	before, after := c.Rank()-1, c.Rank()+1
	if before < 0 {
		before = ProcNull
	}
	if after == c.Size() {
		after = ProcNull
	}
	got := []int{-1}
	if _, err := Sendrecv(c, []int{c.Rank()}, after, 0, got, before, 0); err != nil || got[0] != max(before, -1) {
		return fmt.Errorf("got %v from %d, %w", got, before, err)
	}
	repeated, err := RecvInit(c, got, ProcNull, 0)
	if err != nil {
		return err
	}
	if err := repeated.Start(); err != nil {
		return err
	}
	if _, err := repeated.Wait(); err != nil {
		return err
	}
	return nil
}

// An Ssend ends after the receive has begun, however short the message is.
func TestSsend(t *testing.T) { runRanks(t, 2, "synchronous") }

func synchronousTask(w *World) error {
	peer := 1 - w.Rank()
	for _, length := range []int{0, 1, eagerLimit} {
		for _, dest := range []int{peer, w.Rank()} {
			request := Issend(w.Comm, inputOf[int](w.Rank(), length), dest, 5)
			// The peer answers this message before it receives the other one.
			if _, err := Sendrecv(w.Comm, []int{1}, peer, 1, []int{0}, peer, 1); err != nil {
				return err
			}
			if _, done, err := request.Test(); done || err != nil {
				return fmt.Errorf("before the receive, the send of %d to %d is done: %v, %w", length, dest, done, err)
			}
			if err := Barrier(w.Comm); err != nil {
				return err
			}
			got := make([]int, length)
			if _, err := Recv(w.Comm, got, AnySource, 5); err != nil {
				return err
			}
			if _, err := request.Wait(); err != nil {
				return err
			}
			if !slices.Equal(got, inputOf[int](dest, length)) {
				return fmt.Errorf("got %v", head(got))
			}
		}
	}
	return nil
}

// A message that Mprobe has found goes to Mrecv, and to no other receive.
func TestMprobe(t *testing.T) { runRanks(t, 2, "matched") }

func matchedTask(w *World) error {
	peer := 1 - w.Rank()
	for _, length := range []int{1, eagerLimit, 2 * eagerLimit} {
		requests := []*Request{Isend(w.Comm, inputOf[int](1, length), peer, 1), Isend(w.Comm, inputOf[int](2, length), peer, 1)}
		first, status, err := Mprobe(w.Comm, AnySource, AnyTag)
		if err != nil || status != (Status{peer, 1, length}) {
			return fmt.Errorf("probed %+v, %w", status, err)
		}
		got := make([]int, length)
		if _, err := Recv(w.Comm, got, peer, 1); err != nil || !slices.Equal(got, inputOf[int](2, length)) {
			return fmt.Errorf("the receive got %v, %w", head(got), err)
		}
		if status, err := Mrecv(first, got); err != nil || status.Count != length || !slices.Equal(got, inputOf[int](1, length)) {
			return fmt.Errorf("Mrecv got %v, %w", head(got), err)
		}
		if _, err := Mrecv(first, got); !errors.Is(err, ErrArgument) {
			return fmt.Errorf("the second Mrecv: %v", err)
		}
		if none, _, err := Improbe(w.Comm, peer, 1); none != nil || err != nil {
			return fmt.Errorf("Improbe found %v, %w", none, err)
		}
		if _, err := Waitall(requests...); err != nil {
			return err
		}
		if err := Barrier(w.Comm); err != nil {
			return err
		}
	}
	return nil
}

func TestSeveralRequests(t *testing.T) { runRanks(t, 2, "several requests") }

func severalRequests(w *World) error {
	peer := 1 - w.Rank()
	numbers := make([][1]int, 3)
	requests := []*Request{nil}
	for i := range numbers {
		requests = append(requests, Irecv(w.Comm, numbers[i][:], peer, i))
	}
	if i, _, err := Testany(requests...); i != -1 || err != nil {
		return fmt.Errorf("Testany: %d, %w", i, err)
	}
	if _, done, err := Testall(requests...); done || err != nil {
		return fmt.Errorf("Testall: %v, %w", done, err)
	}
	if err := Barrier(w.Comm); err != nil {
		return err
	}
	if err := Send(w.Comm, []int{11}, peer, 1); err != nil {
		return err
	}
	done, statuses, err := Waitsome(requests...)
	if err != nil || !slices.Equal(done, []int{2}) || statuses[0].Tag != 1 || numbers[1][0] != 11 {
		return fmt.Errorf("Waitsome: %v, %v, %w", done, statuses, err)
	}
	if i, status, err := Testany(requests...); i != 2 || status.Tag != 1 || err != nil {
		return fmt.Errorf("Testany: %d, %+v, %w", i, status, err)
	}
	if err := Barrier(w.Comm); err != nil {
		return err
	}
	if err := errors.Join(Send(w.Comm, []int{10}, peer, 0), Send(w.Comm, []int{12}, peer, 2)); err != nil {
		return err
	}
	if _, err := Waitall(requests...); err != nil {
		return err
	}
	if statuses, done, err := Testall(requests...); !done || err != nil || statuses[3].Tag != 2 {
		return fmt.Errorf("Testall: %v, %v, %w", done, statuses, err)
	}
	if done, _, err := Waitsome(nil, nil); done != nil || err != nil {
		return fmt.Errorf("Waitsome without requests: %v, %w", done, err)
	}
	return nil
}

// Communicators that are freed leave nothing behind, and say so.
func TestFree(t *testing.T) { runRanks(t, 3, "free") }

func freeTask(w *World) error {
	for range 200 {
		c, err := w.Split(0, -w.Rank())
		if err != nil {
			return err
		}
		if err := Send(c, []int{1}, c.Rank(), 0); err != nil { // nobody receives it
			return err
		}
		if err := c.Free(); err != nil {
			return err
		}
		_, received := Recv(c, []int{0}, 0, 0)
		for name, err := range map[string]error{
			"Free": c.Free(), "Send": Send(c, []int{1}, 0, 0), "Recv": received, "Barrier": Barrier(c),
			"Allreduce": Allreduce(c, []int{1}, []int{1}, Sum),
		} {
			if !errors.Is(err, ErrFreed) {
				return fmt.Errorf("%s after Free: %v", name, err)
			}
		}
		if _, err := c.Dup(); !errors.Is(err, ErrFreed) {
			return fmt.Errorf("Dup after Free: %v", err)
		}
	}
	if err := w.Free(); !errors.Is(err, ErrArgument) {
		return fmt.Errorf("Free of the World's communicator: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.comms) != 1 || w.matcher.unexpected.count != 0 {
		return fmt.Errorf("%d communicators and %d places of messages stay", len(w.comms), w.matcher.unexpected.count)
	}
	return nil
}

func TestAbort(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			out := &output{}
			err := taskJob(adapter, 3, "abort", out).Run(context.Background())
			var exit *launch.ExitError
			if !errors.As(err, &exit) || exit.Code != 7 {
				t.Errorf("the job ended with %v\n%s", err, out.text.String())
			}
		})
	}
}
