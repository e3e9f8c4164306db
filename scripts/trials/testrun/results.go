package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// quiet is the longest silence before a line says what still runs.
const quiet = 30 * time.Second

// event is a line of "go test -json"; see "go doc test2json".
type event struct {
	Time    *time.Time `json:",omitempty"`
	Action  string
	Package string
	Test    string  `json:",omitempty"`
	Elapsed float64 `json:",omitempty"`
	Output  string  `json:",omitempty"`
}

// results passes events on to gotestsum.
type results struct {
	mu      sync.Mutex
	to      *json.Encoder
	input   io.Closer
	printer *exec.Cmd
	failed  bool
	running map[string]string // packages: the test that began last
	shown   time.Time         // when a package ended last
}

func newResults() (*results, error) {
	r := &results{running: map[string]string{}, shown: time.Now()}
	r.printer = exec.Command("gotestsum", "--format=pkgname", "--raw-command", "--", "cat")
	r.printer.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal does not end it
	r.printer.Stdout, r.printer.Stderr = os.Stdout, os.Stderr
	input, err := r.printer.StdinPipe()
	if err != nil {
		return nil, err
	}
	r.to, r.input = json.NewEncoder(input), input
	return r, r.printer.Start()
}

// run runs a job to its end.
func (r *results) run(ctx context.Context, j job) {
	cmd := exec.CommandContext(ctx, j.command[0], j.command[1:]...)
	cmd.Env = append(os.Environ(), j.environment...)
	// The go command does not pass on the signal: all processes get it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	output, input := io.Pipe()
	cmd.Stdout, cmd.Stderr = input, input
	read := make(chan bool)
	go func() { read <- r.read(output, j) }()
	began := time.Now()
	err := cmd.Run()
	_ = input.Close()
	if told := <-read; err != nil && !told || j.command[0] != "go" {
		r.whole(j, err, time.Since(began))
	}
}

// read passes on what a go command prints. It reports whether a failure was among that.
func (r *results) read(output io.Reader, j job) (failed bool) {
	tested := map[string]bool{}
	for lines := bufio.NewReader(output); ; {
		line, err := lines.ReadString('\n')
		var e event
		switch {
		case line == "":
		case !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil:
			fmt.Print(line) // of the check, and of what stands between the go command and the tests
		case e.Action == "build-output":
			fmt.Print(e.Output)
		case e.Package == "" || e.Action == "start" || strings.HasPrefix(strings.TrimSpace(e.Output), "--- PASS: "):
		default:
			failed = r.pass(e, j, tested) || failed
		}
		if err != nil {
			return failed
		}
	}
}

// pass passes on one event, under a name that says where the package is tested. It reports whether that is a failure.
func (r *results) pass(e event, j job, tested map[string]bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	tested[e.Package] = tested[e.Package] || e.Action == "run"
	switch {
	case e.Action == "skip" && e.Test != "" && j.device:
		r.encode(event{Action: "output", Package: j.name(e.Package), Test: e.Test, Output: "a skipped test is a failure here\n"})
		e.Action = "fail"
	case e.Action == "pass" && e.Test == "" && j.only != "" && !tested[e.Package]:
		r.encode(event{Action: "output", Package: j.name(e.Package), Output: "no test has the name " + j.only + "\n"})
		e.Action = "fail"
	}
	e.Package = j.name(e.Package)
	switch {
	case e.Action == "run":
		r.running[e.Package] = e.Test
	case e.Test == "" && e.Action != "output":
		delete(r.running, e.Package)
		r.shown = time.Now()
	}
	r.encode(e)
	return e.Action == "fail"
}

func (r *results) encode(e event) {
	r.failed = r.failed || e.Action == "fail"
	_ = r.to.Encode(e) // if gotestsum ends early, end says so
}

// name says which package is tested, and where.
func (j job) name(pkg string) string {
	return strings.TrimSpace(strings.TrimPrefix(pkg, module) + " " + strings.TrimSpace(j.title+" "+j.shard))
}

// whole reports a command as one test.
func (r *results) whole(j job, err error, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := event{Action: "run", Package: j.name("scripts"), Test: filepath.Base(j.command[0])}
	r.encode(e)
	e.Action, e.Elapsed = "pass", took.Seconds()
	if err != nil {
		e.Action, e.Output = "output", err.Error()+": see above\n"
		r.encode(e)
		e.Action, e.Output = "fail", ""
	}
	r.encode(e)
	e.Test = ""
	r.encode(e)
}

// pulse prints what runs when no package has ended for a while.
func (r *results) pulse(ctx context.Context) {
	for range time.Tick(quiet) {
		r.mu.Lock()
		if ctx.Err() == nil && time.Since(r.shown) > quiet {
			var tests []string
			for name, test := range r.running {
				tests = append(tests, name+" "+test)
			}
			fmt.Printf("test: ... %s\n", cmp.Or(strings.Join(tests, ", "), "building"))
		}
		r.mu.Unlock()
	}
}

// end prints the failures and the number of tests, and reports whether all is well.
func (r *results) end() bool {
	_ = r.input.Close()
	if err := r.printer.Wait(); err != nil {
		fmt.Printf("test: gotestsum: %v\n", err)
		return false
	}
	return !r.failed
}
