package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/pmi"
)

// Ranks are processes of this test binary. The variable says what they do.
const taskVariable = "LAUNCH_TEST_TASK"

var tasks = map[string]func(c *pmi.Client) error{
	"meet": meet, "exit": exitWithRank, "survive": survive, "linger": linger, "abort": abort,
	"silent": func(*pmi.Client) error { return nil },
}

func TestMain(m *testing.M) {
	if !pmi.Launched() {
		os.Exit(m.Run())
	}
	c, err := pmi.Join(context.Background())
	if err == nil {
		err = tasks[os.Getenv(taskVariable)](c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// lines stores what ranks write, and calls a function with each line.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	each func(line string)
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.each != nil {
		l.each(string(b))
	}
	return l.text.Write(b)
}

func taskJob(ranks int, task string, out io.Writer) Job {
	return Job{Ranks: ranks, Env: []string{taskVariable + "=" + task}, Stdout: out, Stderr: out}
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// All ranks get what the others have put.
func TestMeeting(t *testing.T) {
	out := &lines{}
	if err := taskJob(3, "meet", out).Run(limited(t)); err != nil {
		t.Fatalf("%v\n%s", err, out.text.String())
	}
	for rank := range 3 {
		if line := fmt.Sprintf("rank %d: met\n", rank); strings.Count(out.text.String(), line) != 1 {
			t.Errorf("no %q in %q", line, out.text.String())
		}
	}
}

func meet(c *pmi.Client) error {
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
}

// The error is that of the worst exit code.
func TestWorstExitCode(t *testing.T) {
	err := taskJob(3, "exit", nil).Run(limited(t))
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Rank != 2 || exit.Code != 42 {
		t.Errorf("got %v", err)
	}
}

func exitWithRank(c *pmi.Client) error {
	os.Exit(21 * c.Rank)
	return nil
}

// When a rank is killed, the others learn in their barrier which one it was.
func TestDeath(t *testing.T) {
	var processes [3]*os.Process
	out := &lines{}
	joined := 0
	out.each = func(line string) {
		if strings.HasSuffix(line, "joined\n") {
			if joined++; joined == len(processes) {
				_ = processes[1].Kill()
			}
		}
	}
	job := taskJob(len(processes), "survive", out)
	job.Started = func(rank int, p *os.Process) {
		out.mu.Lock()
		defer out.mu.Unlock()
		processes[rank] = p
	}
	err := job.Run(limited(t))
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Rank != 1 || exit.Code != 128+int(syscall.SIGKILL) {
		t.Errorf("got %v\n%s", err, out.text.String())
	}
	for _, line := range []string{"rank 0: heard of 1\n", "rank 2: heard of 1\n"} {
		if !strings.Contains(out.text.String(), line) {
			t.Errorf("no %q in %q", line, out.text.String())
		}
	}
}

func survive(c *pmi.Client) error {
	fmt.Println("joined")
	if c.Rank == 1 {
		select {} // until it is killed
	}
	err := c.Barrier(context.Background())
	if !errors.Is(err, pmi.ErrRefused) || !strings.Contains(err.Error(), "rank_1_has_ended") {
		return fmt.Errorf("the barrier returns %w", err)
	}
	fmt.Println("heard of 1")
	return nil
}

// A rank can end the job.
func TestAbort(t *testing.T) {
	err := taskJob(3, "abort", nil).Run(limited(t))
	var aborted *AbortError
	if !errors.As(err, &aborted) || *aborted != (AbortError{1, 7}) {
		t.Errorf("got %v", err)
	}
}

func abort(c *pmi.Client) error {
	if c.Rank == 1 {
		c.Abort(7)
	}
	return linger(c)
}

// Ranks that continue after another has failed are ended after some time.
func TestGrace(t *testing.T) {
	job := taskJob(2, "linger", nil)
	job.Grace = time.Millisecond
	job.Started = func(rank int, p *os.Process) {
		if rank == 1 {
			_ = p.Kill()
		}
	}
	var exit *ExitError
	if err := job.Run(limited(t)); !errors.As(err, &exit) || exit.Rank != 1 {
		t.Errorf("got %v", err)
	}
}

func linger(*pmi.Client) error {
	time.Sleep(time.Hour)
	return nil
}

// When the context ends, all ranks end.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(limited(t))
	enough := errors.New("enough")
	job := taskJob(2, "linger", nil)
	job.Started = func(rank int, _ *os.Process) {
		if rank == 1 {
			cancel(enough)
		}
	}
	if err := job.Run(ctx); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

func TestBadJobs(t *testing.T) {
	for _, ranks := range []int{0, -1, MaxRanks + 1} {
		if err := taskJob(ranks, "silent", nil).Run(limited(t)); err == nil {
			t.Errorf("%d ranks are started", ranks)
		}
	}
	job := taskJob(2, "silent", nil)
	job.Program = "/nonexistent"
	if err := job.Run(limited(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
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
