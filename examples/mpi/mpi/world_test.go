package mpi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/launch"
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
)

// tasks has the tasks of ranks by name.
var tasks = map[string]func(w *World) error{}

func TestMain(m *testing.M) {
	if os.Getenv(taskVariable) != "" {
		if err := runTask(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if text := os.Getenv(crowdVariable); text != "" {
		if err := runCrowded(text); err != nil {
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

func taskJob(adapter string, ranks int, task string, out *output) launch.Job {
	return launch.Job{
		Ranks: ranks, Env: []string{taskVariable + "=" + task, adapterVariable + "=" + adapter},
		Stdout: out, Stderr: out,
	}
}

// runRanks runs a task on n ranks, once for each adapter. All must succeed.
func runRanks(t *testing.T, ranks int, task string) {
	t.Helper()
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			out := &output{}
			if err := taskJob(adapter, ranks, task, out).Run(context.Background()); err != nil {
				t.Errorf("%v\n%s", err, out.text.String())
			}
		})
	}
}

func TestHello(t *testing.T) { runRanks(t, 2, "hello") }

func init() {
	tasks["hello"] = func(w *World) error {
		if w.Rank() == 0 {
			return Send(w.Comm, []int32{1, 2, 3}, 1, 7)
		}
		got := make([]int32, 5)
		status, err := Recv(w.Comm, got, 0, 7)
		if err != nil {
			return err
		}
		if status != (Status{0, 7, 3}) || got[2] != 3 {
			return fmt.Errorf("got %v, %v", status, got)
		}
		return nil
	}
}
