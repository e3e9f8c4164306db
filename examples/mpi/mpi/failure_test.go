package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/launch"
	"github.com/goudat/goudat/udat/udattest"
)

// deathBound is how soon a rank must notice that another has died, whatever it is doing. On an idle machine it takes
// milliseconds.
const deathBound = time.Minute

// victim is the rank that is killed.
const victim = 2

func init() { tasks["death"] = deathTask }

// A rank is killed while the others are in all kinds of operations, with it, with each other, and with any rank. Each
// of these operations soon fails with an error that names the rank that died, and later operations fail with it, too.
func TestDeath(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			const ranks = 5
			var dying *os.Process
			out := &output{}
			ready := 0
			out.line = func(line string) {
				if strings.HasSuffix(line, ": ready\n") {
					if ready++; ready == ranks {
						_ = dying.Kill()
					}
				}
			}
			job := taskJob(adapter, ranks, "death", out)
			job.Started = func(rank int, p *os.Process) {
				out.mu.Lock()
				defer out.mu.Unlock()
				if rank == victim {
					dying = p
				}
			}
			err := job.Run(context.Background())
			var exit *launch.ExitError
			if !errors.As(err, &exit) || exit.Rank != victim || exit.Code != 128+int(syscall.SIGKILL) {
				t.Errorf("the job ended with %v", err)
			}
			for rank := range ranks {
				line := fmt.Sprintf("rank %d: heard of it\n", rank)
				if rank != victim && !strings.Contains(out.text.String(), line) {
					t.Errorf("rank %d did not end as it should", rank)
				}
			}
			if t.Failed() {
				t.Log(out.text.String())
			}
		})
	}
}

// deathTask waits in operations of each kind, some for the victim and some for messages that never come.
func deathTask(w *World) error {
	if err := deathPrelude(w); err != nil {
		return err
	}
	if w.Rank() == victim {
		fmt.Println("ready")
		select {} // until it is killed
	}
	long := make([]float64, 1<<20)
	pending := map[string]func() error{
		"Recv from it":           func() error { _, err := Recv(w.Comm, []int{0}, victim, 1); return err },
		"Recv from anyone":       func() error { _, err := Recv(w.Comm, []int{0}, AnySource, 2); return err },
		"Recv from another":      func() error { _, err := Recv(w.Comm, []int{0}, (w.Rank()+1)%w.Size(), 3); return err },
		"a long Send to it":      func() error { return Send(w.Comm, long, victim, 4) },
		"a long Send to another": func() error { return Send(w.Comm, long, (w.Rank()+4)%w.Size(), 5) },
		"Probe":                  func() error { _, err := Probe(w.Comm, AnySource, 6); return err },
		"Barrier":                func() error { return Barrier(w.Comm) },
	}
	type result struct {
		name string
		err  error
	}
	results := make(chan result, len(pending))
	if w.Rank() == 4 {
		// This rank has no connection to the victim, and makes none.
		pending = map[string]func() error{"Recv from anyone": pending["Recv from anyone"], "Probe": pending["Probe"]}
	}
	for name, operation := range pending {
		go func() { results <- result{name, operation()} }()
	}
	fmt.Println("ready")
	// The victim lives until all ranks are ready.
	first := <-results
	bound := time.After(deathBound)
	for n := 1; ; n++ {
		if err := namesVictim(first.err); err != nil {
			return fmt.Errorf("%s: %w", first.name, err)
		}
		if n == len(pending) {
			break
		}
		select {
		case first = <-results:
		case <-bound:
			return fmt.Errorf("%d operations still wait %v after the first has failed", len(pending)-n, deathBound)
		}
	}
	if err := namesVictim(Send(w.Comm, []int{1}, 0, 0)); err != nil {
		return fmt.Errorf("a Send after all that: %w", err)
	}
	if err := namesVictim(w.Close()); err != nil {
		return fmt.Errorf("Close: %w", err)
	}
	fmt.Println("heard of it")
	os.Exit(0)
	return nil
}

// deathPrelude connects some ranks with the victim, but not rank 4.
func deathPrelude(w *World) error {
	color := 0
	if w.Rank() == 4 {
		color = Undefined
	}
	c, err := w.Split(color, 0)
	if err != nil || c == nil {
		return err
	}
	return Allreduce(c, []int{1}, []int{0}, Sum)
}

func namesVictim(err error) error {
	var e *RankError
	if !errors.As(err, &e) || e.Rank != victim || !errors.Is(err, ErrDied) {
		return fmt.Errorf("got %v", err)
	}
	return nil
}

// When a rank fails and ends, the others fail with an error that names it.
func TestEarlyEnd(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			out := &output{}
			err := taskJob(adapter, 3, "early end", out).Run(context.Background())
			var exit *launch.ExitError
			if !errors.As(err, &exit) || exit.Code != 1 {
				t.Errorf("the job ended with %v", err)
			}
			want := (&RankError{victim, ErrDied}).Error()
			if strings.Count(out.text.String(), want) != 2 || !strings.Contains(out.text.String(), "rank 2: enough") {
				t.Errorf("got %s", out.text.String())
			}
		})
	}
}

func init() {
	tasks["early end"] = func(w *World) error {
		if err := Barrier(w.Comm); err != nil {
			return err
		}
		if w.Rank() == victim {
			return errors.New("enough")
		}
		return Barrier(w.Comm)
	}
}

// The end of Init's context ends all operations, also those of other ranks.
func TestContext(t *testing.T) { runRanks(t, 2, "context") }

func init() {
	tasks["context"] = func(w *World) error {
		if w.Rank() == 1 {
			if err := Send(w.Comm, []int{1}, 0, 0); err != nil {
				return err
			}
			_, err := Recv(w.Comm, []int{0}, 0, 0)
			var e *RankError
			if !errors.As(err, &e) || e.Rank != 0 {
				return fmt.Errorf("got %v", err)
			}
			os.Exit(0)
		}
		if _, err := Recv(w.Comm, []int{0}, 1, 0); err != nil { // rank 1 is there
			return err
		}
		stop := errors.New("stop")
		request := Irecv(w.Comm, []int{0}, 1, 0)
		w.mu.Lock()
		w.fail(stop) // as the end of the context does
		w.mu.Unlock()
		if _, err := request.Wait(); !errors.Is(err, stop) {
			return fmt.Errorf("got %v", err)
		}
		if err := w.Close(); !errors.Is(err, stop) {
			return fmt.Errorf("Close returned %v", err)
		}
		if err := w.Close(); !errors.Is(err, ErrClosed) {
			return fmt.Errorf("the second Close returned %v", err)
		}
		os.Exit(0)
		return nil
	}
}
