package mpi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/launch"
	"github.com/goudat/goudat/examples/mpi/pmi"
	"github.com/goudat/goudat/udat/udattest"
)

// A test that needs ranks starts this test binary for each of them. Environment variables have the names of the
// rank's task and adapter.
const (
	taskVariable    = "MPI_TEST_TASK"
	adapterVariable = "MPI_TEST_ADAPTER"
	// misfitVariable has a variable for rank 1 only.
	misfitVariable = "MPI_TEST_MISFIT"
	// These variables change the card of a rank.
	buildVariable    = "MPI_TEST_BUILD"
	protocolVariable = "MPI_TEST_PROTOCOL"
	// boundVariable has Options.Bound.
	boundVariable = "MPI_TEST_BOUND"
	// misuseVariable has the mistake of TestMisuse.
	misuseVariable = "MPI_TEST_MISUSE"
)

// tasks has the tasks of ranks by name.
var tasks map[string]func(w *World) error

func init() {
	tasks = map[string]func(w *World) error{
		"hello": helloTask, "alone": aloneTask, "never": func(*World) error { return errors.New("it began") },
		"sizes": sizesTask, "pair": pairTask, "same memory": sameMemory,
		"traffic": func(w *World) error { return traffic(w, fitting) }, "traffic by rings": func(w *World) error { return traffic(w, byRings) }, "traffic by events": func(w *World) error { return traffic(w, byEvents) },
		"slow receiver": slowReceiver, "pressure": pressure, "glancing": glancing, "long wait": longWait,
		"collectives": func(w *World) error { return collectivesOn(w.Comm) }, "misuse": func(w *World) error { return misuses[os.Getenv(misuseVariable)](w.Comm, w.Rank() == 2) }, "comms": commsTask,
		"window": windowTask, "fetch": fetchTask, "flush": flushTask, "window arguments": windowArguments,
		"early offer": earlyOffer, "parting": partingTask, "mix": mixTask,
		"death": deathTask, "early end": earlyEnd, "early close": earlyClose, "late": lateTask,
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(taskVariable) != "" {
		if err := runTask(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	udattest.Main(m)
}

// patience bounds how long a job of a test may take. It allows for an emulated device on a busy machine.
const patience = 4 * time.Minute

// longRun reports whether to run tests that take long.
func longRun() bool { return os.Getenv("GOUDAT_TEST_LONG") != "" }

func runTask() error {
	if name, value, found := strings.Cut(os.Getenv(misfitVariable), "="); found && os.Getenv("PMI_RANK") == "1" {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	alterCard = func(c *card) {
		if build := os.Getenv(buildVariable); build != "" {
			c.Build = build
		}
		if os.Getenv(protocolVariable) != "" {
			c.Protocol++
		}
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, errors.New("the task took too long"))
	defer cancel()
	options := Options{Adapter: os.Getenv(adapterVariable)}
	if text := os.Getenv(boundVariable); text != "" {
		var err error
		if options.Bound, err = time.ParseDuration(text); err != nil {
			return err
		}
	}
	w, err := Init(ctx, options)
	if err != nil {
		return err
	}
	if err := tasks[os.Getenv(taskVariable)](w); err != nil {
		return errors.Join(err, w.free())
	}
	return w.Close()
}

// output stores what ranks write, and can call a function at each line.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	line func(string)
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.line != nil {
		o.line(string(b))
	}
	return o.text.Write(b)
}

func taskJob(adapter string, ranks int, task string, out *output, environment ...string) launch.Job {
	return launch.Job{
		Ranks: ranks, Env: append(environment, taskVariable+"="+task, adapterVariable+"="+adapter),
		Stdout: out, Stderr: out,
	}
}

// onAdapters runs a test once for each adapter.
func onAdapters(t *testing.T, test func(t *testing.T, adapter string)) {
	t.Helper()
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) { test(t, adapter) })
	}
}

// runRanks runs a task on n ranks, once for each adapter. All must succeed.
func runRanks(t *testing.T, ranks int, task string) {
	t.Helper()
	onAdapters(t, func(t *testing.T, adapter string) {
		out := &output{}
		if err := taskJob(adapter, ranks, task, out).Run(context.Background()); err != nil {
			t.Errorf("%v\n%s", err, out.text.String())
		}
	})
}

func TestHello(t *testing.T) { runRanks(t, 2, "hello") }

func helloTask(w *World) error {
	if w.Rank() == 0 {
		return Send(w.Comm, []int32{1, 2, 3}, 1, 7)
	}
	got := make([]int32, 5)
	status, err := Recv(w.Comm, got, 0, 7)
	if err != nil || status != (Status{0, 7, 3}) || got[2] != 3 {
		return fmt.Errorf("got %v, %v, %w", status, got, err)
	}
	return nil
}

// worlds starts the ranks of a job in this process, and closes them at the end.
func worlds(t testing.TB, adapter string, n int) []*World {
	t.Helper()
	made, _ := startWorlds(t, adapter, n)
	failures := make(chan error, n)
	t.Cleanup(func() {
		for _, w := range made {
			go func() { failures <- w.Close() }()
		}
		for range n {
			if err := <-failures; err != nil {
				t.Error(err)
			}
		}
	})
	return made
}

// startWorlds starts the ranks of a job in this process. The server is their launcher.
func startWorlds(t testing.TB, adapter string, n int) ([]*World, *pmi.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	server := pmi.NewServer("test", n)
	t.Cleanup(server.Close)
	made := make([]*World, n)
	failures := make(chan error, n)
	for rank := range n {
		line, err := server.Join(ctx, rank)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			var err error
			made[rank], err = initialize(ctx, line, Options{Adapter: adapter})
			failures <- err
		}()
	}
	for range n {
		if err := <-failures; err != nil {
			t.Fatal(err)
		}
	}
	return made, server
}

// pair returns two connected ranks. They make progress only in until.
func pair(t *testing.T, adapter string) (a, b *World) {
	t.Helper()
	made := worlds(t, adapter, 2)
	arrived := make(chan error, 2)
	for _, w := range made {
		go func() { arrived <- Barrier(w.Comm) }()
	}
	for range made {
		if err := <-arrived; err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range made {
		w.mu.Lock()
		w.driven = true
		w.mu.Unlock()
		t.Cleanup(func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.driven = false
		})
	}
	return made[0], made[1]
}

// until lets a rank look for arrivals until something is true.
func until(t *testing.T, w *World, something func() bool) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for end := time.Now().Add(patience); !something(); w.pollAll() {
		if time.Now().After(end) {
			t.Fatal("the condition does not become true")
		}
	}
}

// deliver sends a message for which the receiver waits.
func deliver(t *testing.T, from, to *World) {
	t.Helper()
	incoming := Irecv(to.Comm, make([]int, 1), from.Rank(), 0)
	outgoing := Isend(from.Comm, []int{1}, to.Rank(), 0)
	until(t, from, func() bool { return outgoing.done })
	until(t, to, func() bool { return incoming.done })
}

// deafPair returns two ranks that are not connected. They make progress only in until.
func deafPair(t *testing.T, adapter string) (a, b *World) {
	t.Helper()
	cards := make([]card, 2)
	var made [2]*World
	for rank := range made {
		w := newWorld(rank, 2, Options{})
		w.forget = func() bool { return true }
		t.Cleanup(func() {
			if err := w.free(); err != nil {
				t.Error(err)
			}
		})
		if err := w.open(adapter); err != nil {
			t.Fatal(err)
		}
		if err := w.listen(&cards[rank]); err != nil {
			t.Fatal(err)
		}
		w.cards, w.driven = cards, true
		made[rank] = w
	}
	return made[0], made[1]
}

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
	onAdapters(t, func(t *testing.T, adapter string) {
		if out, err := hydra(t, 4, "traffic", AdapterVariable+"="+adapter); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
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

func aloneTask(w *World) error {
	if w.Rank() != 0 || w.Size() != 1 {
		return fmt.Errorf("it is rank %d of %d", w.Rank(), w.Size())
	}
	return errors.Join(toOneself(w), collectivesOn(w.Comm))
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
			err := taskJob(adapters[0], 3, "never", out, misfitVariable+"="+test.misfit).Run(context.Background())
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
