package mpi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/launch"
	"github.com/goudat/goudat/udat/udattest"
)

// hydra runs a task on ranks that MPICH's launcher starts, with additional environment variables.
func hydra(t *testing.T, ranks int, task string, environment ...string) (string, error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mpiexec, err := exec.LookPath("mpiexec.hydra")
	if err != nil {
		t.Skip("no mpiexec.hydra, which Debian's package mpich has")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, mpiexec, "-launcher", "fork", "-n", fmt.Sprint(ranks), program)
	cmd.Env = append(append(os.Environ(), taskVariable+"="+task), environment...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// MPICH's launcher starts the ranks, and the environment says on which adapter.
func TestHydra(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			if out, err := hydra(t, 4, "traffic", AdapterVariable+"="+adapter); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// Ranks without a name of an adapter find one.
func TestFirstAdapter(t *testing.T) {
	udattest.Names(t)
	if out, err := hydra(t, 2, "hello"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A process without a launcher is a single rank, and needs no adapter.
func TestAlone(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), taskVariable+"=alone", "DAT_OVERRIDE=/nonexistent")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func init() {
	tasks["alone"] = func(w *World) error {
		if w.Rank() != 0 || w.Size() != 1 {
			return fmt.Errorf("it is rank %d of %d", w.Rank(), w.Size())
		}
		if err := toOneself(w); err != nil {
			return err
		}
		c, err := w.Split(0, 0)
		if err != nil {
			return err
		}
		return collectivesOn(c)
	}
	tasks["never"] = func(w *World) error { return errors.New("it began") }
}

// If one rank does not fit the others, all ranks report which one it is, and why.
func TestMisfits(t *testing.T) {
	adapters := udattest.Names(t)
	for _, test := range []struct {
		name string
		// environment of the rank that does not fit
		misfit string
		want   error
	}{
		{"no adapter", adapterVariable + "=nonexistent", ErrAdapter},
		{"another build", buildVariable + "=another", ErrVersion},
		{"another number of ranks", "PMI_SIZE=2", ErrSize},
		{"another protocol", protocolVariable + "=2", ErrVersion},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := &output{}
			job := taskJob(adapters[0], 3, "never", out)
			job.Env = append(job.Env, misfitVariable+"="+test.misfit)
			err := job.Run(context.Background())
			var exit *launch.ExitError
			if !errors.As(err, &exit) || exit.Code != 1 {
				t.Errorf("the job ended with %v", err)
			}
			text := out.text.String()
			// The misfit itself blames another rank, or itself.
			if n := strings.Count(text, test.want.Error()); n < 3 || strings.Count(text, "mpi: rank 1: "+test.want.Error()) < 2 {
				t.Errorf("%d ranks report it:\n%s", n, text)
			}
		})
	}
}

// When the launcher ends, what every rank waits for fails with ErrLauncherGone, and so do later operations.
func TestLauncherGone(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			made, server := startWorlds(t, adapter, 3)
			type result struct {
				what string
				err  error
			}
			results := make(chan result, 10)
			for rank, w := range made {
				request := Irecv(w.Comm, []int{0}, (rank+1)%len(made), 0)
				go func() {
					_, err := request.Wait()
					results <- result{"a receive", err}
					results <- result{"a later send", Send(w.Comm, []int{1}, 0, 1)}
					results <- result{"Close", w.Close()}
				}()
			}
			server.Close()
			bound := time.After(patience)
			for range 3 * len(made) {
				select {
				case r := <-results:
					if !errors.Is(r.err, ErrLauncherGone) {
						t.Errorf("%s returns %v", r.what, r.err)
					}
				case <-bound:
					t.Fatal("ranks still wait")
				}
			}
		})
	}
}

// A rank that knows of the launcher's end tells the others, which may be on other machines and not know yet.
func TestLauncherGoneIsTold(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			made, _ := startWorlds(t, adapter, 2)
			first, second := made[0], made[1]
			greeting := Isend(first.Comm, []int{1}, 1, 0)
			if _, err := Recv(second.Comm, []int{0}, 0, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := greeting.Wait(); err != nil {
				t.Fatal(err)
			}
			first.mu.Lock()
			first.fail(ErrLauncherGone) // as hear does
			first.mu.Unlock()
			if _, err := Recv(second.Comm, []int{0}, 0, 0); !errors.Is(err, ErrLauncherGone) {
				t.Errorf("a receive returns %v", err)
			}
			for rank, w := range made {
				if err := w.Close(); !errors.Is(err, ErrLauncherGone) {
					t.Errorf("rank %d: Close returns %v", rank, err)
				}
			}
		})
	}
}
