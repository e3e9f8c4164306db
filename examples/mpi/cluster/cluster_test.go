//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/examples/mpi/pmi"
	"github.com/goudat/goudat/udat/udattest"
	"github.com/goudat/goudat/udat/udattest/control"
)

// A test that needs ranks starts this test binary for each of them. An environment variable has the name of the
// rank's task.
const (
	taskVariable = "CLUSTER_TEST_TASK"
	// boundVariable has the ranks' Options.Bound.
	boundVariable = "CLUSTER_TEST_BOUND"
)

// tasks has the tasks of ranks by name.
var tasks = map[string]func(w *mpi.World) error{}

// patience bounds how long a job may take.
const patience = 4 * time.Minute

func TestMain(m *testing.M) {
	rank, err := control.Rank()
	switch {
	case os.Getenv(shellVariable) != "":
		// mpiexec passes its environment to its shells.
		os.Exit(runShell(os.Args[1:]))
	case pmi.Launched():
		if err := runTask(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case err == nil && rank != 0:
		if err := serve(rank); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case err == nil:
		code := 1
		if _, err = control.Meet(context.Background(), "ready", ""); err == nil {
			code = m.Run()
			_, err = control.Meet(context.Background(), "over", "")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	default:
		os.Exit(m.Run())
	}
}

// serve runs on the machines that do not run the tests.
func serve(rank int) error {
	peers, err := control.Peers()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go serveShell(ctx, peers[rank])
	if _, err := control.Meet(ctx, "ready", ""); err != nil {
		return err
	}
	_, err = control.Meet(ctx, "over", "")
	return err
}

func runTask() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var options mpi.Options
	if text := os.Getenv(boundVariable); text != "" {
		var err error
		if options.Bound, err = time.ParseDuration(text); err != nil {
			return err
		}
	}
	w, err := mpi.Init(ctx, options)
	if err != nil {
		return err
	}
	err = tasks[os.Getenv(taskVariable)](w)
	if closed := w.Close(); err == nil && !errors.Is(closed, mpi.ErrClosed) { // a task may have closed it
		err = closed
	}
	return err
}

// machines returns the addresses of the machines. It skips the test if there are too few.
func machines(t *testing.T, least int) []netip.Addr {
	t.Helper()
	peers, err := control.Peers()
	if err != nil {
		t.Skip(err)
	}
	if len(peers) < least {
		t.Skipf("there are %d machines, but the test needs %d", len(peers), least)
	}
	return peers
}

// mpiexec returns the command that runs a task on ranks, which it assigns to the machines in turn.
func mpiexec(t *testing.T, ctx context.Context, hosts []netip.Addr, ranks int, adapter, task string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hydra, err := exec.LookPath("mpiexec.hydra")
	if err != nil {
		t.Skip("no mpiexec.hydra, which Debian's package mpich has")
	}
	var names []string
	for _, host := range hosts {
		names = append(names, host.String())
	}
	// mpiexec's remote shell must be a program without arguments.
	shell := filepath.Join(t.TempDir(), "shell")
	if err := os.WriteFile(shell, fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec %s \"$@\"\n", shellVariable, program), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, hydra, "-hosts", strings.Join(names, ","), "-localhost", names[0], "-ppn", "1",
		"-launcher", "ssh", "-launcher-exec", shell, "-n", fmt.Sprint(ranks), program)
	cmd.Env = append(os.Environ(), taskVariable+"="+task, mpi.AdapterVariable+"="+adapter)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// runRanks runs a task with n ranks on each machine, once for each adapter. All must succeed.
func runRanks(t *testing.T, hosts []netip.Addr, ranks int, task string) {
	t.Helper()
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			cmd := mpiexec(t, ctx, hosts, ranks, adapter, task)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			for rank := range ranks {
				if line := done(rank, ranks); strings.Count(out.String(), line) != 1 {
					t.Errorf("no %q in\n%s", line, out.String())
				}
			}
		})
	}
}

// done is what a rank prints when its task is done.
func done(rank, size int) string { return fmt.Sprintf("rank %d of %d is done\n", rank, size) }

// Ranks on two machines, and on four, exchange messages of all sizes.
func TestMachines(t *testing.T) {
	for _, n := range []int{2, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { runRanks(t, machines(t, n)[:n], 2*n, "exchange") })
	}
}

func init() { tasks["exchange"] = exchange }

// exchange has every rank send to every other and to itself, and receive.
func exchange(w *mpi.World) error {
	for _, length := range []int{0, 1, 1000, 50_000} {
		var requests []*mpi.Request
		in, out := make([][]int32, w.Size()), make([][]int32, w.Size())
		for other := range w.Size() {
			in[other], out[other] = make([]int32, length), make([]int32, length)
			for i := range out[other] {
				out[other][i] = content(w.Rank(), other, i)
			}
			requests = append(requests, mpi.Irecv(w.Comm, in[other], other, length), mpi.Isend(w.Comm, out[other], other, length))
		}
		if _, err := mpi.Waitall(requests...); err != nil {
			return err
		}
		for other := range w.Size() {
			for i, v := range in[other] {
				if want := content(other, w.Rank(), i); v != want {
					return fmt.Errorf("number %d of %d from rank %d is %d, want %d", i, length, other, v, want)
				}
			}
		}
	}
	sum := []int{0}
	if err := mpi.Allreduce(w.Comm, []int{w.Rank()}, sum, mpi.Sum); err != nil || sum[0] != w.Size()*(w.Size()-1)/2 {
		return fmt.Errorf("the sum of the ranks is %d, %w", sum[0], err)
	}
	fmt.Print(done(w.Rank(), w.Size()))
	return nil
}

func content(from, to, i int) int32 { return int32(from*7919 + to*104729 + i) }
