package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// toolbox says where programs are.
type toolbox struct {
	built  string // by scripts/report
	native string // those of the native stack; on PATH if empty
}

// kind says whose program it is.
type kind int

const (
	ours   kind = iota
	twin        // ours, to be kept on one processor
	native      // a test program of the native stack
	system      // any other
)

// programs are all that is run, also for the other host.
var programs = map[string]kind{
	"udatinfo": ours, "conformance.test": ours, "soak.test": ours, "sidebyside": ours,
	"pingpong": ours, "go-dtest": ours, "go-dtestx": ours, "go-dtestsrq": ours, "go-dapltest": ours,
	"ctwin": twin, "gotwin": twin,
	"dtest": native, "dtestx": native, "dtestsrq": native, "dapltest": native,
	"ib_send_lat": system, "ib_write_bw": system, "ib_read_bw": system,
}

// find returns the program's file.
func (t toolbox) find(name string) (string, error) {
	folder := ""
	switch programs[name] {
	case ours, twin:
		folder = t.built
	case native:
		folder = t.native
	}
	path, err := exec.LookPath(filepath.Join(folder, name))
	if err != nil {
		return "", errors.New(name + missingProgram)
	}
	return path, nil
}

// command makes the command that runs a program on this host.
func (t toolbox) command(environment []string, name string, args ...string) (*exec.Cmd, error) {
	kind, known := programs[name]
	if !known {
		return nil, fmt.Errorf("there is no program %q", name)
	}
	path, err := t.find(name)
	if err != nil {
		return nil, err
	}
	line := append([]string{path}, args...)
	switch kind {
	case native:
		// The C library writes each line at once for terminals only, and the output must be read at once.
		line = append([]string{"stdbuf", "-oL"}, line...)
	case twin:
		line = append([]string{"taskset", "-c", "0"}, line...)
		// With one processor, Go's runtime would take it from calls into C.
		environment = append(environment[:len(environment):len(environment)], "GOMAXPROCS="+strconv.Itoa(max(runtime.NumCPU(), 2)))
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = environment
	return cmd, nil
}

// process is a program that runs, with all that it starts.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed at its end
	err   error         // how it ended

	mu      sync.Mutex
	lines   []string // of its output
	bytes   int      // in these
	silent  bool     // there is no more output
	changed chan struct{}
}

// mostBytes bounds how much of a program's output is kept.
const mostBytes = 1 << 20

// start starts a program, which is killed when ctx ends.
func start(ctx context.Context, cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{}), changed: make(chan struct{})}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = write, write
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	write.Close()
	if err != nil {
		read.Close()
		return nil, err
	}
	go p.collect(read)
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	stop := context.AfterFunc(ctx, p.kill)
	go func() { <-p.ended; stop() }()
	return p, nil
}

// kill ends the program, and what it has started.
func (p *process) kill() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// interrupt makes a Go program print its goroutines and end. A program that does not end is killed.
func (p *process) interrupt(ctx context.Context) {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGQUIT)
	select {
	case <-p.ended:
	case <-ctx.Done():
	case <-time.After(afterKill):
		p.kill()
	}
}

func (p *process) collect(from io.ReadCloser) {
	defer from.Close()
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, mostBytes)
	for lines.Scan() {
		p.say(lines.Text(), false)
	}
	p.say("", true)
}

func (p *process) say(line string, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent = last; !last && p.bytes < mostBytes {
		p.lines = append(p.lines, line)
		p.bytes += len(line) + 1
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// line waits for a line by its number, from 0. It fails when the output ends, or ctx does.
func (p *process) line(ctx context.Context, number int) (line string, ok bool) {
	for {
		p.mu.Lock()
		lines, silent, changed := p.lines, p.silent, p.changed
		p.mu.Unlock()
		switch {
		case number < len(lines):
			return lines[number], true
		case silent:
			return "", false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", false
		}
	}
}

// await waits for a line that has the text, and reports whether there is one.
func (p *process) await(ctx context.Context, text string) bool {
	for number := 0; ; number++ {
		switch line, ok := p.line(ctx, number); {
		case !ok:
			return false
		case strings.Contains(line, text):
			return true
		}
	}
}

// afterKill is how long a killed program may take to end. A program inside the kernel may never end: a device that goes
// away and its programs wait for each other.
const afterKill = 10 * time.Second

var (
	errTime  = errors.New("it did not end in time")
	errStays = errors.New("it did not end in time, and stays in the kernel though it was killed")
)

// wait waits for the end of the program and of its output.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.kill()
		select {
		case <-p.ended:
			return errTime
		case <-time.After(afterKill):
			return errStays
		}
	}
	// Its children may still hold its output.
	ctx, cancel := context.WithTimeout(ctx, afterKill)
	defer cancel()
	p.await(ctx, "\x00")
	p.kill()
	return p.err
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}
