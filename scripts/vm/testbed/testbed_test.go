package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A test that needs a particular program in the machine runs this test binary there. This variable says what it does.
const roleVariable = "TESTBED_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(playRole(role))
	}
	os.Unsetenv("TESTBED_DEVICE") // each test uses its own
	if os.Getenv("TESTBED_ACCEL") == acceleratorFastest {
		os.Unsetenv("TESTBED_ACCEL") // so that emulation is tested, too
	}
	if err := openSources(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// openSources opens the launcher's sources. "go test" repeats a test when files have changed that the test itself has
// opened.
func openSources() error {
	sources := []string{"../go.mod", "../run"}
	for _, pattern := range []string{"../guest/*.go", "uml/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		sources = append(sources, files...)
	}
	for _, file := range sources {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		f.Close()
	}
	return nil
}

// check ends the test if a step that it needs has failed.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writeFiles writes files, by their paths below a folder. All can be executed.
func writeFiles(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(folder, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(content), 0o755))
	}
}

// runLimit bounds one run of the test bed, in case it hangs. On a busy host, booting alone may take minutes.
const runLimit = 10 * time.Minute

// needMachine is the first line of each test that starts a machine. Such tests may run in parallel.
func needMachine(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a virtual machine")
	}
	if os.Getenv("UDAT_TESTBED") != "" {
		t.Skip("runs in the test bed, not in a machine of it")
	}
	prepared.Do(func() { prepareCache(t) })
	t.Parallel()
}

var prepared sync.Once

// prepareCache fills the cache. The test bed prints messages while it does that, and is silent from then on.
func prepareCache(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		b := newBed(t, "true")
		b.limit = runLimit + 15*time.Minute // the first time, it fetches a kernel, or builds one
		b.runs(0)
		if quiet && (b.stdout.Len() > 0 || b.programErrors() != "") {
			t.Errorf("running true prints %q and %q", b.stdout.String(), b.stderr.String())
		}
	}
}

// launcher is the absolute path of the script testbed.
func launcher(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../run")
	check(t, err)
	return path
}

// userMode reports whether the machines run User-Mode Linux.
var userMode = os.Getenv("TESTBED_ACCEL") == acceleratorUML

// bed is one run of the test bed.
type bed struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr bytes.Buffer
	ended  chan error
	leader int // the first process of its machine; 0: not looked for
	limit  time.Duration
}

func newBed(t *testing.T, args ...string) *bed {
	t.Helper()
	b := &bed{t: t, cmd: exec.Command(launcher(t), args...), ended: make(chan error, 1), limit: runLimit}
	b.cmd.Stdout, b.cmd.Stderr = &b.stdout, &b.stderr
	return b
}

func (b *bed) start() {
	b.t.Helper()
	check(b.t, b.cmd.Start())
	b.t.Cleanup(func() { b.cmd.Process.Kill() })
	go func() { b.ended <- b.cmd.Wait() }()
}

// startUntil starts the test bed, waits until the program has written a line to standard output, and returns the rest
// of the output.
func (b *bed) startUntil(line string) *os.File {
	b.t.Helper()
	read, write, err := os.Pipe()
	check(b.t, err)
	b.t.Cleanup(func() { read.Close() })
	b.cmd.Stdout = write
	b.start()
	write.Close()
	check(b.t, read.SetReadDeadline(time.Now().Add(runLimit)))
	seen := make([]byte, len(line)+1)
	if n, err := io.ReadFull(read, seen); err != nil || string(seen) != line+"\n" {
		b.t.Fatalf("the program wrote %q (%v), want %q; stderr: %s", seen[:n], err, line, b.stderr.String())
	}
	name := "qemu-system"
	if userMode {
		name = "" // the name of the kernel's file
	}
	b.leader = childNamed(b.t, b.cmd.Process.Pid, name)
	return read
}

func (b *bed) signal(s syscall.Signal) {
	b.t.Helper()
	check(b.t, b.cmd.Process.Signal(s))
}

// wait waits for the end of the test bed, and of its machine's processes.
func (b *bed) wait() {
	b.t.Helper()
	select {
	case err := <-b.ended:
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			b.t.Fatal(err)
		}
	case <-time.After(b.limit):
		b.t.Fatalf("the test bed has not ended after %s", b.limit)
	}
	if b.leader != 0 {
		waitGroupGone(b.t, b.leader)
	}
}

// ends waits for the end of the test bed, and checks its exit code and what its standard error contains.
func (b *bed) ends(code int, stderr ...string) {
	b.t.Helper()
	b.wait()
	if got := b.cmd.ProcessState.ExitCode(); got != code {
		b.t.Errorf("exit code %d, want %d; stdout: %.2000q, stderr: %s", got, code, b.stdout.String(), b.stderr.String())
	}
	for _, part := range stderr {
		if !strings.Contains(b.stderr.String(), part) {
			b.t.Errorf("stderr is %q, want it to contain %q", b.stderr.String(), part)
		}
	}
}

// runs runs the test bed to its end, and checks that as ends does.
func (b *bed) runs(code int, stderr ...string) {
	b.t.Helper()
	b.start()
	b.ends(code, stderr...)
}

// programErrors returns standard error without the test bed's messages about the kernel that it boots and about a
// repeated boot, and without the kernel's own: it may still write when a program has started.
func (b *bed) programErrors() string {
	var kept strings.Builder
	fromKernel := false
	for line := range strings.Lines(b.stderr.String()) {
		switch {
		case strings.HasPrefix(line, "testbed: ---- kernel messages "):
			fromKernel = true
		case strings.HasPrefix(line, "testbed: ---- end of kernel messages "):
			fromKernel = false
		case !fromKernel && !strings.HasPrefix(line, bootedAgain) && !strings.HasPrefix(line, "testbed: booting Linux "):
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// childNamed returns the child of a process that has this name.
func childNamed(t *testing.T, parent int, name string) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	check(t, err)
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent ..."
		open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
		fields := strings.Fields(string(text[end+1:]))
		if strings.HasPrefix(string(text[open+1:end]), name) && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			check(t, err)
			return pid
		}
	}
	t.Fatalf("process %d has no child %s", parent, name)
	return 0
}

// waitGroupGone waits for the end of all processes of a group.
func waitGroupGone(t *testing.T, group int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); syscall.Kill(-group, 0) != syscall.ESRCH; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("processes of the group %d are still there", group)
			syscall.Kill(-group, syscall.SIGKILL)
			return
		}
	}
}

// report is what the role "report" reports about itself.
type report struct {
	Args   []string
	Env    []string
	Dir    string
	Stdin  []byte
	Umask  int
	User   int
	Limits [2]uint64 // memlock, nofile
	Host   string
}

// binaryOutput has each byte value, and no regularity that would hide a lost or repeated block.
func binaryOutput(seed uint32) []byte {
	b := make([]byte, 1<<20)
	for i := range b {
		seed = seed*1664525 + 1013904223
		b[i] = byte(seed >> 24)
	}
	return b
}

func playRole(role string) int {
	switch role {
	case "report":
		r := report{Args: os.Args, Env: os.Environ(), Umask: umask(), User: os.Getuid()}
		r.Dir, _ = os.Getwd()
		r.Stdin, _ = io.ReadAll(os.Stdin)
		for i, limit := range []int{8, syscall.RLIMIT_NOFILE} {
			var l syscall.Rlimit
			if err := syscall.Getrlimit(limit, &l); err == nil {
				r.Limits[i] = l.Cur
			}
		}
		r.Host, _ = os.Hostname()
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return 1
		}
		return 77
	case "binary":
		errs := make(chan error, 2)
		go func() { _, err := os.Stdout.Write(binaryOutput(1)); errs <- err }()
		go func() { _, err := os.Stderr.Write(binaryOutput(2)); errs <- err }()
		if errors.Join(<-errs, <-errs) != nil {
			return 1
		}
		return 0
	case "ask":
		return playAsk()
	case "fleet":
		return playFleet()
	case "emulator":
		return playEmulator()
	}
	fmt.Fprintf(os.Stderr, "no such role: %s\n", role)
	return 1
}
