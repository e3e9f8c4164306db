package mpi

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat/udattest"
)

// When the time of ranks ends, their errors name the rank that they have waited for, whoever waits for whom, and do not
// blame another. Rank 3 never makes the call of the others.
func TestLate(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		for _, call := range []string{"Barrier", "Allreduce", "Bcast", "Gather", "Recv", "Send"} {
			t.Run(adapter+"/"+call, func(t *testing.T) {
				out := &output{}
				job := taskJob(adapter, lateRanks, "late", out)
				job.Env = append(job.Env, lateVariable+"="+call)
				err := job.Run(context.Background()) // ranks end with the error of their world
				if named := strings.Count(out.text.String(), named); named != lateRanks-1 {
					t.Errorf("%d ranks know whom they have waited for: %v\n%s", named, err, out.text.String())
				}
			})
		}
	}
}

// named is what ranks print whose errors are right.
const named = "the right rank is named"

const (
	lateRanks = 5
	lateRank  = 3
	// lateVariable has the call of TestLate.
	lateVariable = "MPI_TEST_LATE"
)

func init() {
	tasks["late"] = lateTask
	tasks["mismatch without messages"] = mismatchWithoutMessages
}

func lateTask(w *World) error {
	// All are connected, so that the news has a way.
	err := Alltoall(w.Comm, make([]int, w.Size()), make([]int, w.Size()))
	if w.Rank() == lateRank {
		<-w.failed.Done() // it neither calls nor ends
		return nil
	}
	called := make(chan struct{})
	defer close(called)
	go func() {
		// The time ends as soon as the news of who awaits whom has come, however slow the machine is.
		bound := time.Now().Add(udattest.Patience)
		for tick := time.Tick(time.Millisecond); ; {
			select {
			case <-tick:
			case <-called:
				return
			}
			w.mu.Lock()
			known, _ := w.late(nil)
			if known == lateRank || time.Now().After(bound) {
				w.expire(context.DeadlineExceeded) // as at the end of the context of Init
			}
			w.mu.Unlock()
		}
	}()
	numbers := make([]int, w.Size())
	long := make([]int, eagerLimit)
	next := (w.Rank() + 1) % w.Size()
	switch call := os.Getenv(lateVariable); {
	case err != nil: // the others were faster
		break
	case call == "Barrier":
		err = Barrier(w.Comm)
	case call == "Allreduce":
		err = Allreduce(w.Comm, numbers, numbers, Sum)
	case call == "Bcast":
		err = Bcast(w.Comm, numbers, lateRank)
	case call == "Gather":
		// Rank 0 waits for it, and the others for rank 0.
		if err = Gather(w.Comm, numbers[:1], numbers, 0); err == nil {
			err = Barrier(w.Comm)
		}
	case call == "Recv":
		// Each waits for the next.
		_, err = Recv(w.Comm, numbers, next, 0)
	case call == "Send":
		if w.Rank() == lateRank-1 {
			err = Send(w.Comm, long, lateRank, 0)
		} else {
			_, err = Recv(w.Comm, numbers, next, 0)
		}
	default:
		return fmt.Errorf("there is no call %q", call)
	}
	var blamed *RankError
	switch {
	case err == nil:
		return errors.New("the call has ended without an error")
	case errors.As(err, &blamed) && (blamed.Rank != lateRank || !errors.Is(err, ErrLate)):
		return fmt.Errorf("another rank or cause is blamed: %w", err)
	case blamed == nil && !errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("another error: %w", err)
	case !strings.Contains(err.Error(), fmt.Sprintf("rank %d", lateRank)):
		return fmt.Errorf("rank %d is not named: %w", lateRank, err)
	}
	fmt.Println(named)
	return nil
}

// Calls that do not go together end with an error, even if no message shows it, and the next call works.
func TestMismatchWithoutMessages(t *testing.T) {
	for _, ranks := range []int{2, 3, 5} {
		for _, adapter := range udattest.Names(t) {
			t.Run(fmt.Sprintf("%s/%d", adapter, ranks), func(t *testing.T) {
				out := &output{}
				job := taskJob(adapter, ranks, "mismatch without messages", out)
				job.Env = append(job.Env, boundVariable+"=3s")
				if err := job.Run(context.Background()); err != nil {
					t.Errorf("%v\n%s", err, out.text.String())
				}
			})
		}
	}
}

func mismatchWithoutMessages(w *World) error {
	c, err := w.Dup()
	if err != nil {
		return err
	}
	size := w.Size()
	calls := []func(root int) error{
		func(root int) error { return Bcast(c, []int{1}, root) },
		func(root int) error { return Reduce(c, []int{1}, []int{1}, Sum, root) },
		func(root int) error { return Gather(c, []int{1}, make([]int, size), root) },
		func(root int) error { return Scatter(c, make([]int, size), []int{1}, root) },
		func(root int) error {
			return Gatherv(c, []int{1}, make([]int, size), slices.Repeat([]int{1}, size), root)
		},
		func(int) error { return Barrier(c) },
		func(int) error { return Allreduce(c, []int{1}, []int{0}, Sum) },
		func(int) error { return Alltoall(c, make([]int, size), make([]int, size)) },
	}
	rounds := 12
	if longRun() {
		rounds = 200
	}
	random := rand.New(rand.NewPCG(uint64(size), 0)) // the same on all ranks
	for round := range rounds {
		// Each rank has a root of its own, and in some rounds a call of its own.
		roots, chosen := make([]int, size), make([]int, size)
		call := random.IntN(5)
		for rank := range size {
			roots[rank] = random.IntN(size)
			if chosen[rank] = call; round%3 == 2 {
				chosen[rank] = random.IntN(len(calls))
			}
		}
		if round == 0 {
			roots[0], roots[1], chosen[0], chosen[1] = 1, 0, 0, 0 // each waits for the other
		}
		failure := calls[chosen[w.Rank()]](roots[w.Rank()])
		if failure != nil && !errors.Is(failure, ErrMismatch) && !errors.Is(failure, ErrElsewhere) && !errors.Is(failure, ErrLength) {
			return fmt.Errorf("round %d, calls %v, roots %v: %w", round, chosen, roots, failure)
		}
		if round == 0 && size == 2 && !errors.Is(failure, ErrMismatch) && !errors.Is(failure, ErrElsewhere) {
			return fmt.Errorf("both wait for the other, and the error is %w", failure)
		}
		if err := Barrier(w.Comm); err != nil {
			return fmt.Errorf("round %d, calls %v, roots %v, after %w: %w", round, chosen, roots, failure, err)
		}
		if err := sumOf(c, round, 1); err != nil {
			return fmt.Errorf("round %d, calls %v, roots %v: a later sum: %w", round, chosen, roots, err)
		}
	}
	return nil
}
