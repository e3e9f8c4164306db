package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/pmi"
)

// Ranks are processes of this test binary. The variable says what they do.
const taskVariable = "LAUNCH_TEST_TASK"

// tasks are what ranks do. Without an error, they exit with code 0.
var tasks = map[string]func(c *pmi.Client) error{
	"meet": func(c *pmi.Client) error {
		ctx := context.Background()
		if err := errors.Join(c.Put(ctx, fmt.Sprint("rank-", c.Rank), fmt.Sprint("place-", c.Rank)), c.Barrier(ctx)); err != nil {
			return err
		}
		for rank := range c.Size {
			if place, err := c.Get(ctx, fmt.Sprint("rank-", rank)); err != nil || place != fmt.Sprint("place-", rank) {
				return fmt.Errorf("rank %d is said to be at %q, %w", rank, place, err)
			}
		}
		fmt.Print("met") // without an end of the line
		return errors.Join(c.Finalize(ctx), c.Close())
	},
	"exit": func(c *pmi.Client) error {
		os.Exit(21 * c.Rank)
		return nil
	},
	"survive": func(c *pmi.Client) error {
		fmt.Println("joined")
		err := c.Barrier(context.Background())
		if !errors.Is(err, pmi.ErrRefused) || !strings.Contains(err.Error(), "rank_1_has_ended") {
			return fmt.Errorf("the barrier returns %w", err)
		}
		fmt.Println("heard of 1")
		return nil
	},
	"linger": func(c *pmi.Client) error {
		if c.Rank != 1 {
			fmt.Println("here")
		}
		select {}
	},
}

func TestMain(m *testing.M) {
	if !pmi.Launched() {
		os.Exit(m.Run())
	}
	c, err := pmi.Join(context.Background())
	if err == nil && os.Getenv(taskVariable) == "survive" && c.Rank == 1 {
		err = tasks["linger"](c) // until it is killed
	}
	if err == nil {
		err = tasks[os.Getenv(taskVariable)](c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// lines stores what ranks write, and calls a function after each line.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	each func()
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.each()
	return l.text.Write(b)
}

// A job ends as its ranks do, and what they write has their numbers.
func TestRun(t *testing.T) {
	enough := errors.New("enough")
	failed := func(rank, code int) func(err error) bool {
		return func(err error) bool {
			var exit *ExitError
			return errors.As(err, &exit) && exit.Rank == rank && exit.Code == code
		}
	}
	const killed = 128 + int(syscall.SIGKILL)
	for name, test := range map[string]struct {
		ranks  int
		task   string
		kill   bool   // rank 1, when all have started,
		after  string // and the others have written that
		grace  time.Duration
		cancel bool // the context ends when all ranks have started
		ends   func(err error) bool
		lines  []string
	}{
		"ranks that get what the others have put":    {ranks: 3, task: "meet", ends: func(err error) bool { return err == nil }, lines: []string{"rank 0: met\n", "rank 1: met\n", "rank 2: met\n"}},
		"the error is that of the worst exit code":   {ranks: 3, task: "exit", ends: failed(2, 42)},
		"a death, of which the others hear":          {ranks: 3, task: "survive", kill: true, after: "joined", ends: failed(1, killed), lines: []string{"rank 0: heard of 1\n", "rank 2: heard of 1\n"}},
		"ranks that continue after a death too long": {ranks: 2, task: "linger", kill: true, after: "here", grace: time.Millisecond, ends: failed(1, killed)},
		"the end of the context":                     {ranks: 2, task: "linger", cancel: true, ends: func(err error) bool { return errors.Is(err, enough) && errors.Is(err, context.Canceled) }},
	} {
		t.Run(name, func(t *testing.T) {
			limited, stop := context.WithTimeout(context.Background(), time.Minute)
			defer stop()
			ctx, cancel := context.WithCancelCause(limited)
			defer cancel(nil)
			processes := make([]*os.Process, test.ranks)
			out := &lines{}
			job := Job{Ranks: test.ranks, Env: []string{taskVariable + "=" + test.task}, Stdout: out, Stderr: out, Grace: test.grace}
			out.each = func() {
				if test.kill && !slices.Contains(processes, nil) && strings.Count(out.text.String(), test.after) == test.ranks-1 {
					_ = processes[1].Kill()
				}
			}
			job.Started = func(rank int, p *os.Process) {
				out.mu.Lock()
				defer out.mu.Unlock()
				processes[rank] = p
				out.each()
				if test.cancel && rank == test.ranks-1 {
					cancel(enough)
				}
			}
			if err := job.Run(ctx); !test.ends(err) {
				t.Errorf("got %v\n%s", err, out.text.String())
			}
			for _, line := range test.lines {
				if strings.Count(out.text.String(), line) != 1 {
					t.Errorf("no %q in %q", line, out.text.String())
				}
			}
		})
	}
}

func TestPrefixer(t *testing.T) {
	var out bytes.Buffer
	p := &prefixer{to: &out, rank: 3, mu: &sync.Mutex{}}
	for _, part := range []string{"a", "b\n\nc\nd", "", "e"} {
		if n, err := p.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	p.finish()
	if got, want := out.String(), "rank 3: ab\nrank 3: \nrank 3: c\nrank 3: de\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	if _, err := p.Write(bytes.Repeat([]byte("x"), longestLine+1)); err != nil || out.Len() <= longestLine {
		t.Errorf("a line without an end is kept: %d bytes written, %v", out.Len(), err)
	}
}
