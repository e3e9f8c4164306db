package pairing

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// bound is the longest time that a process may take, in case it hangs. On a busy machine with an emulated device, a pair
// takes many times as long as usual.
const bound = 4 * time.Minute

// Process is a running program.
type Process struct {
	ctx    context.Context // its end kills the process
	cmd    *exec.Cmd
	lines  chan string
	done   sync.WaitGroup
	mu     sync.Mutex
	output bytes.Buffer
}

// Start starts the program, which is killed at the end of the test.
func (p *Program) Start(t testing.TB, flags []string) *Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	t.Cleanup(cancel)
	s := &Process{
		ctx:   ctx,
		cmd:   exec.CommandContext(ctx, p.Path, append(p.Args[:len(p.Args):len(p.Args)], flags...)...),
		lines: make(chan string, 1000),
	}
	s.cmd.Env = append(os.Environ(), p.Env...)
	s.cmd.WaitDelay = 10 * time.Second
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = write, write
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	s.done.Add(1)
	go s.collect(read)
	return s
}

// Serve starts the program as a server, and returns when clients may connect.
func (p *Program) Serve(t testing.TB, flags []string) *Process {
	t.Helper()
	s := p.Start(t, flags)
	s.Await(t, p.Listens)
	return s
}

func (s *Process) collect(from io.ReadCloser) {
	defer s.done.Done()
	defer from.Close()
	defer close(s.lines)
	for lines := bufio.NewScanner(from); lines.Scan(); {
		s.mu.Lock()
		fmt.Fprintln(&s.output, lines.Text())
		s.mu.Unlock()
		select {
		case s.lines <- lines.Text():
		default: // nobody waits for lines any more
		}
	}
}

// Await waits for a line that contains the text. The process must not end before.
func (s *Process) Await(t testing.TB, text string) {
	t.Helper()
	for line := range s.lines {
		if strings.Contains(line, text) {
			return
		}
	}
	t.Fatalf("it ended with %v, without %q in\n%s", s.Wait(), text, s.Text())
}

// Wait waits for the end of the process and of its output.
func (s *Process) Wait() error {
	s.done.Wait()
	return s.cmd.Wait()
}

// Succeeds waits for the end of a process that must succeed and say so, and reports whether it does.
func (s *Process) Succeeds(t testing.TB, says string) bool {
	t.Helper()
	err := s.Wait()
	if err == nil && strings.Contains(s.Text(), says) {
		return true
	}
	t.Errorf("it ended with %v, want %q in\n%s", err, says, s.Text())
	return false
}

// Fails waits for the end of a process that must fail by itself and say why.
func (s *Process) Fails(t testing.TB, reasons ...string) {
	t.Helper()
	err := s.Wait()
	for _, reason := range reasons {
		if err == nil || s.ctx.Err() != nil || !strings.Contains(s.Text(), reason) {
			t.Errorf("it ended with %v, want %q in\n%s", err, reason, s.Text())
		}
	}
}

// Text returns the process's output so far.
func (s *Process) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.String()
}

// Signal sends a signal to the process.
func (s *Process) Signal(signal os.Signal) error { return s.cmd.Process.Signal(signal) }
