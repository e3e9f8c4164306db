package mpi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
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
	boundVariable   = "MPI_TEST_BOUND"  // Options.Bound
	misfitVariable  = "MPI_TEST_MISFIT" // a variable for rank 1 only
	misuseVariable  = "MPI_TEST_MISUSE" // the mistake of TestMisuse
	buildVariable   = "MPI_TEST_BUILD"  // of the card
)

// tasks has the tasks of ranks by name.
var tasks map[string]func(w *World) error

func init() {
	tasks = map[string]func(w *World) error{
		"hello": hello, "alone": aloneTask, "never": func(*World) error { return errors.New("it began") },
		"sizes": sizesTask, "pair": pairTask, "same memory": sameMemory,
		"slow receiver": slowReceiver, "pressure": pressure, "glancing": glancing, "long wait": longWait,
		"collectives": func(w *World) error { return collectivesOn(w.Comm) },
		"misuse":      func(w *World) error { return misuses[os.Getenv(misuseVariable)](w.Comm, w.Rank() == 2) },
		"window":      windowTask, "fetch": fetchTask, "flush": flushTask, "flush beside receive": flushBesideReceive, "window arguments": windowArguments,
		"early offer": earlyOffer, "parting": partingTask, "mix": mixTask,
		"death": deathTask, "early end": earlyEnd, "early close": earlyClose, "late": lateTask,
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(taskVariable) == "" {
		udattest.Main(m)
		return
	}
	if err := runTask(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// patience bounds how long a job of a test may take. It allows for an emulated device on a busy machine.
const patience = 4 * time.Minute

func runTask() (err error) {
	if name, value, found := strings.Cut(os.Getenv(misfitVariable), "="); found && os.Getenv("PMI_RANK") == "1" {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	alterCard = func(c *card) {
		if build := os.Getenv(buildVariable); build != "" {
			c.Build = build
		}
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, errors.New("the task took too long"))
	defer cancel()
	bound, _ := time.ParseDuration(os.Getenv(boundVariable)) // without the variable, 0
	w, err := Init(ctx, Options{Adapter: os.Getenv(adapterVariable), Bound: bound})
	if err != nil {
		return err
	}
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case error:
			err = errors.Join(fmt.Errorf("%w\n%s", failed, debug.Stack()), w.free())
		default:
			panic(failed)
		}
	}()
	check(tasks[os.Getenv(taskVariable)](w))
	return w.Close()
}

// check and must end a task with an error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
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

// runJob runs a job for as long as it may take on a busy machine, and no longer.
func runJob(t *testing.T, job launch.Job) error {
	ctx, cancel := context.WithTimeout(t.Context(), jobTime)
	defer cancel()
	return job.Run(ctx)
}

const jobTime = 4 * time.Minute

// runRanks runs a task on n ranks, once for each adapter. All must succeed.
func runRanks(t *testing.T, ranks int, task string) {
	t.Helper()
	onAdapters(t, func(t *testing.T, adapter string) {
		out := &output{}
		if err := runJob(t, taskJob(adapter, ranks, task, out)); err != nil {
			t.Errorf("%v\n%s", err, out.text.String())
		}
	})
}

// worlds starts the ranks of a job in this process. The server is their launcher.
func worlds(t *testing.T, adapter string, n int) ([]*World, *pmi.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	server := pmi.NewServer("test", n)
	t.Cleanup(server.Close)
	made, failures := make([]*World, n), make([]error, n)
	var starting sync.WaitGroup
	for rank := range n {
		line, err := server.Join(ctx, rank)
		if err != nil {
			t.Fatal(err)
		}
		starting.Add(1)
		go func() {
			defer starting.Done()
			made[rank], failures[rank] = initialize(ctx, line, Options{Adapter: adapter})
		}()
	}
	if starting.Wait(); errors.Join(failures...) != nil {
		t.Fatal(failures)
	}
	return made, server
}

// pair returns two connected ranks, which are closed at the end. They make progress only in until.
func pair(t *testing.T, adapter string) (a, b *World) {
	t.Helper()
	made, _ := worlds(t, adapter, 2)
	together := func(do func(w *World) error) {
		failures := make(chan error, len(made))
		for _, w := range made {
			go func() { failures <- do(w) }()
		}
		if err := errors.Join(<-failures, <-failures); err != nil {
			t.Error(err)
		}
	}
	drive := func(driven bool) {
		for _, w := range made {
			w.mu.Lock()
			w.driven = driven
			w.mu.Unlock()
		}
	}
	together(func(w *World) error { return Barrier(w.Comm) })
	drive(true)
	t.Cleanup(func() {
		drive(false)
		together((*World).Close)
	})
	return made[0], made[1]
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

// Ranks that MPICH's launcher starts find an adapter: by the environment, or the first. A process without a launcher is a
// single rank, and needs none.
func TestStart(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hydra := []string{"mpiexec.hydra", "-launcher", "fork", "-n", "4", program}
	commands := map[string][]string{"Hydra, the first adapter": hydra, "alone": {program, "DAT_OVERRIDE=/nonexistent"}}
	for _, adapter := range udattest.Names(t) {
		commands["Hydra, "+adapter] = append(hydra[:len(hydra):len(hydra)], AdapterVariable+"="+adapter)
	}
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(command[0])
			if err != nil {
				t.Skip("no mpiexec.hydra, which Debian's package mpich has")
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, path)
			task := "hello"
			if name == "alone" {
				task = name
			}
			cmd.Env = append(os.Environ(), taskVariable+"="+task)
			for _, word := range command[1:] {
				if strings.Contains(word, "=") {
					cmd.Env = append(cmd.Env, word)
				} else {
					cmd.Args = append(cmd.Args, word)
				}
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// hello has each rank tell all others its number.
func hello(w *World) error {
	all := make([]int32, w.Size())
	if err := Allgather(w.Comm, []int32{int32(w.Rank())}, all); err != nil || all[1] != 1 {
		return fmt.Errorf("got %v, %w", all, err)
	}
	return nil
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
	for name, test := range map[string]struct {
		misfit string // environment of the rank that does not fit
		want   error
	}{
		"no adapter":              {adapterVariable + "=nonexistent", ErrAdapter},
		"another build":           {buildVariable + "=another", ErrVersion},
		"another number of ranks": {"PMI_SIZE=2", ErrSize},
	} {
		t.Run(name, func(t *testing.T) {
			out := &output{}
			err := runJob(t, taskJob(adapters[0], 3, "never", out, misfitVariable+"="+test.misfit))
			var exit *launch.ExitError
			if !errors.As(err, &exit) || exit.Code != 1 {
				t.Errorf("the job ended with %v", err)
			}
			// The misfit itself blames another rank, or itself.
			text := out.text.String()
			if n := strings.Count(text, test.want.Error()); n < 3 || strings.Count(text, "mpi: rank 1: "+test.want.Error()) < 2 {
				t.Errorf("%d ranks report it:\n%s", n, text)
			}
		})
	}
}
