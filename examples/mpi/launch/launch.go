// Package launch starts the ranks of a message-passing program on this machine, for users without mpiexec. Like
// mpiexec, it speaks PMI-1 with them, so that they do not need to know what has started them.
package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/goudat/goudat/examples/mpi/pmi"
)

// MaxRanks is the most ranks that a job may have.
const MaxRanks = 64

// Job says what to start.
type Job struct {
	Ranks int
	Args  []string // of the program that calls Run
	Env   []string // in addition to the launcher's own

	// Stdout and Stderr get the ranks' lines, each after the number of its rank.
	Stdout, Stderr io.Writer

	// Grace is how long the other ranks may continue after one has failed, before they are told to end; 30 seconds if
	// 0.
	Grace time.Duration

	// Started, if not nil, is called with each process.
	Started func(rank int, process *os.Process)
}

// ExitError says that a rank has failed.
type ExitError struct {
	Rank int
	// Code is the exit code, or 128 and the number of the signal that ended the rank.
	Code int
	Err  error
}

func (e *ExitError) Error() string { return fmt.Sprintf("rank %d ended with %v", e.Rank, e.Err) }

const (
	// rankFD is the descriptor of a rank's line to the launcher.
	rankFD = 3

	defaultGrace = 30 * time.Second
	// killDelay is how long a rank may take to end after it was told to.
	killDelay = 10 * time.Second
)

// Run starts the ranks and waits until all have ended. When ctx ends, they get SIGTERM, and after some time SIGKILL;
// Run then returns an error that matches that of ctx and its cause. When ranks fail, Run returns the ExitError with
// the highest code, and among equal ones the first.
func (j Job) Run(ctx context.Context) error {
	if j.Ranks < 1 || j.Ranks > MaxRanks {
		return fmt.Errorf("launch: %d ranks; there must be 1 to %d", j.Ranks, MaxRanks)
	}
	if j.Grace == 0 {
		j.Grace = defaultGrace
	}
	running, end := context.WithCancel(ctx)
	defer end()

	server := pmi.NewServer(fmt.Sprintf("goudat_%x", rand.Uint64()), j.Ranks)
	defer server.Close()
	ended := make(chan *ExitError)
	var printing sync.Mutex
	started := 0
	var failed error
	for rank := range j.Ranks {
		if failed = j.start(running, server, rank, &printing, ended); failed != nil {
			end()
			break
		}
		started++
	}

	var worst *ExitError
	for range started {
		e := <-ended
		if e == nil || worst != nil && running.Err() != nil {
			continue // the rank has succeeded, or was told to end
		}
		if worst == nil {
			defer time.AfterFunc(j.Grace, end).Stop()
		}
		if worst == nil || e.Code > worst.Code {
			worst = e
		}
	}
	switch {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return ContextError(ctx)
	case worst != nil:
		return worst
	}
	return nil
}

// start starts a rank, and sends its result to ended, nil for success.
func (j Job) start(ctx context.Context, server *pmi.Server, rank int, printing *sync.Mutex, ended chan<- *ExitError) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	theirs, environment, err := server.Line(rank, rankFD)
	if err != nil {
		return err
	}
	defer theirs.Close()
	cmd := exec.CommandContext(ctx, program, j.Args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killDelay
	cmd.ExtraFiles = []*os.File{theirs} // the first becomes rankFD
	cmd.Env = slices.Concat(os.Environ(), j.Env, environment)
	stdout := &prefixer{to: j.Stdout, rank: rank, mu: printing}
	stderr := &prefixer{to: j.Stderr, rank: rank, mu: printing}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("launch: rank %d: %w", rank, err)
	}
	if j.Started != nil {
		j.Started(rank, cmd.Process)
	}
	go func() {
		err := cmd.Wait()
		stdout.finish()
		stderr.finish()
		ended <- exitError(rank, err)
	}()
	return nil
}

func exitError(rank int, err error) *ExitError {
	if err == nil {
		return nil
	}
	e := &ExitError{Rank: rank, Code: 1, Err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		e.Code = exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			const signaled = 128
			e.Code = signaled + int(status.Signal())
		}
	}
	return e
}

// ContextError returns an error that matches both the error and the cause of a
// context that has ended.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// prefixer writes whole lines, each after the number of its rank. mu keeps lines of several prefixers from mixing.
type prefixer struct {
	to   io.Writer // may be nil
	rank int
	mu   *sync.Mutex
	line []byte // the line that has not ended yet
}

// longestLine is the length at which a line without an end is broken.
const longestLine = 64 << 10

func (p *prefixer) Write(b []byte) (int, error) {
	p.line = append(p.line, b...)
	for {
		end := bytes.IndexByte(p.line, '\n')
		if end < 0 && len(p.line) < longestLine {
			return len(b), nil
		}
		if end < 0 {
			end = len(p.line)
		}
		p.print(p.line[:end])
		p.line = p.line[min(end+1, len(p.line)):]
	}
}

// finish writes the rest that has no end of line.
func (p *prefixer) finish() {
	if len(p.line) > 0 {
		p.print(p.line)
		p.line = nil
	}
}

func (p *prefixer) print(line []byte) {
	if p.to == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.to, "rank %d: %s\n", p.rank, line)
}
