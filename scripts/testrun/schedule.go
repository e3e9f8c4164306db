package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// binaryLimit is how long one test binary may run. The longest takes some minutes, with the race detector on a busy
	// machine.
	binaryLimit = 20 * time.Minute
	// grace is how long a binary may report its goroutines after that limit.
	grace = 2 * time.Minute
)

// job is a test binary that is ready to run.
type job struct {
	run
	pkg    testPackage
	shard  shard
	binary string
}

func (j job) String() string { return short(j.pkg.ImportPath) + j.shard.String() }

// schedule runs jobs side by side, in the order of the runs, while the next run is built.
type schedule struct {
	work      string // folder
	slots     int    // how many machines run at once
	oneDevice bool   // tests share a device of this machine: one at a time
	check     string // a command that checks the code, empty for none
	tally     *tally
}

func (s *schedule) all(ctx context.Context, runs []run) {
	b, err := newBuilder(ctx, s.work)
	if err != nil {
		s.tally.fail("%v", err)
		return
	}
	slots := newSlots(s.slots)
	jobs := make(chan job, 1000)
	go func() {
		defer close(jobs)
		for i, r := range runs {
			s.tally.say("building for: %s", r.title)
			if i > 0 {
				slots.take(1)
			}
			built, err := b.build(ctx, r)
			if i > 0 {
				slots.give(1)
			}
			if err != nil {
				s.tally.fail("%s: %v", r.title, err)
			}
			for _, j := range built {
				jobs <- j
			}
		}
	}()
	var device sync.Mutex
	var running sync.WaitGroup
	defer running.Wait()
	if s.check != "" {
		slots.take(1)
		running.Add(1)
		go func() {
			defer running.Done()
			defer slots.give(1)
			s.checks(ctx)
		}()
	}
	for j := range jobs {
		exclusive := s.oneDevice && j.device
		n := min(max(j.machines, 1), s.slots)
		slots.take(n)
		if ctx.Err() != nil {
			s.tally.fail("%s: interrupted", j)
			return
		}
		running.Add(1)
		go func() {
			defer running.Done()
			defer slots.give(n)
			if exclusive {
				device.Lock()
				defer device.Unlock()
			}
			s.one(ctx, b.test2json, j)
		}()
	}
}

// checks runs the command that checks the code. Its last line says what is wrong.
func (s *schedule) checks(ctx context.Context) {
	s.tally.say("checking the code: %s", s.check)
	began := time.Now()
	cmd := exec.CommandContext(ctx, inCheckout(s.check))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	output, err := cmd.CombinedOutput()
	s.tally.checked(s.check, string(output), err, time.Since(began), processorTime(cmd.ProcessState))
}

// one runs a job to its end.
func (s *schedule) one(ctx context.Context, test2json string, j job) {
	ctx, cancel := context.WithTimeout(ctx, j.limit()+grace)
	defer cancel()
	args := j.command(test2json)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = j.pkg.Dir
	cmd.Env = append(os.Environ(), append(j.environment, "PWD="+j.pkg.Dir)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	output, input := io.Pipe()
	cmd.Stdout, cmd.Stderr = input, input
	o := s.tally.begin(j.String(), j.title, j.device)
	read := make(chan struct{})
	go func() {
		defer close(read)
		o.read(bufio.NewReader(output))
	}()
	err := cmd.Run()
	input.Close()
	<-read
	o.end(err, processorTime(cmd.ProcessState))
}

// processorTime is the processor time of a process and of the children that it has waited for.
func processorTime(state *os.ProcessState) time.Duration {
	if state == nil {
		return 0
	}
	return state.UserTime() + state.SystemTime()
}

// limit is how long the test binary may run. Only a search comes close to it.
func (j job) limit() time.Duration { return binaryLimit + 2*j.lasts }

// command returns the command that prints the job's results like "go test -json".
func (j job) command(test2json string) []string {
	program := j.exec
	if len(program) > 0 {
		program = append([]string{inCheckout(program[0])}, program[1:]...)
	}
	if j.fuzz {
		// One process at a time: there is one device. Minimizing inputs takes longer than it is worth.
		return []string{"go", "test", "-json", "-count=1", "-run=^$", "-fuzz=.", "-fuzztime=" + j.lasts.String(), "-fuzzminimizetime=10x",
			"-parallel=1", "-timeout=" + j.limit().String(), "-exec='" + strings.Join(program, "' '") + "'"}
	}
	command := append([]string{test2json, "-t", "-p", j.pkg.ImportPath}, program...)
	command = append(command, j.binary, "-test.paniconexit0", "-test.v=test2json", "-test.timeout="+j.limit().String())
	if only := j.only + j.shard.run; only != "" { // at most one of the two
		command = append(command, "-test.run="+only)
	}
	if j.shard.skip != "" {
		command = append(command, "-test.skip="+j.shard.skip)
	}
	return append(command, j.flags...)
}

// slots limits how many machines run at once.
type slots struct {
	mu    sync.Mutex
	given sync.Cond
	free  int
}

func newSlots(n int) *slots {
	s := &slots{free: n}
	s.given.L = &s.mu
	return s
}

func (s *slots) take(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.free < n {
		s.given.Wait()
	}
	s.free -= n
}

func (s *slots) give(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	s.given.Broadcast()
}
