package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// copySelf copies this test binary into a folder.
func copySelf(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.ReadFile(os.Args[0])
	check(t, err)
	path := filepath.Join(dir, "a program")
	check(t, os.WriteFile(path, self, 0o755))
	return path
}

func TestProgramHasCallersSurroundings(t *testing.T) {
	needMachine(t)
	dir := filepath.Join(t.TempDir(), "a folder, with 'quotes'")
	check(t, os.Mkdir(dir, 0o755))
	args := []string{copySelf(t, dir), "", " ", "two words", `"'\$x`, "line\nbreak", "--timeout", "not UTF-8: \xff"}
	b := newBed(t, args...)
	b.cmd.Dir = dir
	b.cmd.Env = append(os.Environ(), roleVariable+"=report", "ODD=a b\n\xfe'", "EMPTY=", "UDAT_TEST_ADDR=mine",
		"GOFLAGS=-mod=vendor -race", "GOOS=windows", "GOWORK=/nowhere", "GO111MODULE=off", "CGO_ENABLED=1")
	b.cmd.Stdin = strings.NewReader("nobody reads this")
	b.runs(77)
	if complaints := b.programErrors(); complaints != "" {
		t.Errorf("stderr is %q, want nothing", complaints)
	}
	var got report
	if err := json.Unmarshal(b.stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v in %q", err, b.stdout.String())
	}
	// JSON replaces invalid UTF-8.
	for i := range args {
		args[i] = strings.ToValidUTF8(args[i], "\ufffd")
	}
	if !slices.Equal(got.Args, args) {
		t.Errorf("arguments %q, want %q", got.Args, args)
	}
	if got.Dir != dir {
		t.Errorf("working folder %q, want %q", got.Dir, dir)
	}
	if len(got.Stdin) > 0 {
		t.Errorf("standard input is %q, want it empty", got.Stdin)
	}
	for _, entry := range []string{"ODD=a b\n\ufffd'", "EMPTY=", "UDAT_TEST_ADDR=mine", "UDAT_TESTBED=1",
		"DAT_OVERRIDE=/run/goudat/dat.conf", "UDAT_TEST_IA=ofa-v2-cma-rxe0,ofa-v2-scm-rxe0",
		"GOFLAGS=-mod=vendor -race", "GOOS=windows", "GOWORK=/nowhere"} {
		if !slices.Contains(got.Env, entry) {
			t.Errorf("the environment %q does not have %q", got.Env, entry)
		}
	}
	if got.Umask != umask() || got.User != 0 || got.Host != "testbed" {
		t.Errorf("umask %#o, user %d, host %q; want %#o, 0, testbed", got.Umask, got.User, got.Host, umask())
	}
	if got.Limits[0] != ^uint64(0) || got.Limits[1] < 65536 {
		t.Errorf("limits of locked memory and open files are %d, want them unlimited and at least 65536", got.Limits)
	}
}

func TestOutputIsExact(t *testing.T) {
	needMachine(t)
	b := newBed(t, os.Args[0])
	b.cmd.Env = append(os.Environ(), roleVariable+"=binary")
	b.runs(0)
	if !bytes.Equal(b.stdout.Bytes(), binaryOutput(1)) {
		t.Errorf("standard output differs (%d bytes)", b.stdout.Len())
	}
	if got := b.programErrors(); got != string(binaryOutput(2)) {
		t.Errorf("standard error differs (%d bytes): %.300q", len(got), got)
	}
}

func TestDeviceIsReady(t *testing.T) {
	needMachine(t)
	b := newBed(t, "sh", "-c", `cd /sys/class/infiniband/rxe0/ports/1 && cat state gids/1 gid_attrs/types/1 &&
		cat /sys/class/net/dummy0/mtu /proc/sys/net/ipv4/ip_local_port_range && ls /dev/infiniband/uverbs0 /dev/infiniband/rdma_cm &&
		getent hosts testbed && cmp /etc/dat.conf "$DAT_OVERRIDE" && cat /etc/dat.conf && exit 1`)
	b.runs(1)
	want := `4: ACTIVE
0000:0000:0000:0000:0000:ffff:0a4d:0001
RoCE v2
9000
47000	60999
/dev/infiniband/rdma_cm
/dev/infiniband/uverbs0
10.77.0.1       testbed
ofa-v2-cma-rxe0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "dummy0 0" ""
ofa-v2-scm-rxe0 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "rxe0 1" ""
`
	if b.stdout.String() != want {
		t.Errorf("output is\n%swant\n%s", b.stdout.String(), want)
	}
}

// TestSoftIWARP checks that the machine has the device, and only its adapter. Debian's kernels have no such device, and
// the machine says so.
func TestSoftIWARP(t *testing.T) {
	needMachine(t)
	if os.Getenv("TESTBED_ACCEL") != acceleratorUML {
		b := newBed(t, "--accel", acceleratorTCG, "--device", "siw", "true")
		b.runs(exitFailure, "the kernel has no soft-iWARP")
		return
	}
	b := newBed(t, "--device", "siw", "sh", "-c",
		`ls /sys/class/infiniband && cat /sys/class/infiniband/siw0/ports/1/state && echo "$UDAT_TEST_IA" && cat "$DAT_OVERRIDE"`)
	b.runs(0)
	want := `siw0
4: ACTIVE
ofa-v2-cma-siw0
ofa-v2-cma-siw0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "dummy0 0" ""
`
	if b.stdout.String() != want {
		t.Errorf("output is\n%swant\n%s", b.stdout.String(), want)
	}
}

// TestNoDevice checks also that writes vanish unless they go to a share.
func TestNoDevice(t *testing.T) {
	needMachine(t)
	private, shared := t.TempDir(), filepath.Join(t.TempDir(), "shared, really")
	check(t, os.Mkdir(shared, 0o755))
	b := newBed(t, "--device", "none", "sh", "-c", `
		ls /sys/class/infiniband /sys/module/rdma_rxe; echo "[$UDAT_TEST_IA]"
		echo kept >"$SHARED/kept"; echo lost >"$PRIVATE/lost"; cat "$PRIVATE/lost"; rm "$PRIVATE/there"
		(while :; do :; done) & kill -SEGV $$`)
	b.cmd.Env = append(os.Environ(), "TESTBED_SHARE="+shared, "SHARED="+shared, "PRIVATE="+private, "UDAT_TEST_IA=")
	check(t, os.WriteFile(filepath.Join(private, "there"), nil, 0o644))
	b.runs(exitSignalBase+int(syscall.SIGSEGV), "was ended by signal 11 (segmentation fault)", "/sys/module/rdma_rxe")
	if got, want := b.stdout.String(), "/sys/class/infiniband:\n[]\nlost\n"; got != want {
		t.Errorf("output is %q, want %q", got, want)
	}
	if content, err := os.ReadFile(filepath.Join(shared, "kept")); string(content) != "kept\n" {
		t.Errorf("the file in the share is %q (%v), want it kept", content, err)
	}
	entries, err := os.ReadDir(private)
	if err != nil || len(entries) != 1 || entries[0].Name() != "there" {
		t.Errorf("the folder that is not shared has %v (%v), want just the file that was there", entries, err)
	}
}

func TestTimeLimit(t *testing.T) {
	needMachine(t)
	b := newBed(t, "--timeout", "15s", "sh", "-c", "trap 'echo asked to quit >&2' QUIT; echo ready; while :; do sleep 1; done")
	b.startUntil("ready")
	b.ends(exitTimeLimit, "asked to quit", "testbed: sh exceeded its limit of 15s")
}

func TestPanicIsNoResult(t *testing.T) {
	needMachine(t)
	script, console := "echo c >/proc/sysrq-trigger; sleep 60", "sysrq triggered crash"
	if userMode { // which has no sysrq trigger
		script, console = "echo 2 >/proc/sys/vm/panic_on_oom && tail /dev/zero", "panic_on_oom is enabled"
	}
	b := newBed(t, "--memory", "256M", "sh", "-c", script)
	b.runs(exitFailure, "there is no result of sh", console)
}

func TestKilledMachineIsNoResult(t *testing.T) {
	needMachine(t)
	b := newBed(t, "sh", "-c", "echo ready; sleep 60")
	b.startUntil("ready")
	check(t, syscall.Kill(b.leader, syscall.SIGKILL))
	b.ends(exitFailure, "signal: killed")
}

func TestSignalReachesProgram(t *testing.T) {
	needMachine(t)
	b := newBed(t, "sh", "-c", "trap 'echo told >&2; exit 5' TERM; echo ready; while :; do sleep 1; done")
	b.startUntil("ready")
	b.signal(syscall.SIGTERM)
	b.ends(5, "told")
}

func TestSignalEndsMachineThatIgnoresIt(t *testing.T) {
	needMachine(t)
	b := newBed(t, "sh", "-c", "trap '' INT; echo ready; while :; do sleep 1; done")
	b.startUntil("ready")
	b.signal(syscall.SIGINT)
	b.ends(exitSignalBase + int(syscall.SIGINT))
}

func TestSecondSignalEndsMachineAtOnce(t *testing.T) {
	needMachine(t)
	b := newBed(t, "sh", "-c", "trap '' HUP; trap 'echo told >&2' QUIT; echo ready; while :; do sleep 1; done")
	told := make(chan struct{})
	b.cmd.Stderr = &watcher{text: "told", seen: told}
	b.startUntil("ready")
	b.signal(syscall.SIGQUIT)
	select {
	case <-told:
	case <-time.After(runLimit):
		t.Error("the program was not told")
	}
	start := time.Now()
	b.signal(syscall.SIGHUP)
	b.ends(exitSignalBase + int(syscall.SIGHUP))
	if took := time.Since(start); took >= grace {
		t.Errorf("the machine ended %s after the second signal, as if that were the first", took)
	}
}

// watcher closes seen when the text has been written to it.
type watcher struct {
	text    string
	seen    chan struct{}
	written string
}

func (w *watcher) Write(b []byte) (int, error) {
	before := strings.Contains(w.written, w.text)
	w.written += string(b)
	if !before && strings.Contains(w.written, w.text) {
		close(w.seen)
	}
	return len(b), nil
}

func TestKilledTestBedLeavesNothing(t *testing.T) {
	needMachine(t)
	b := newBed(t, "sh", "-c", "echo ready; sleep 60")
	b.startUntil("ready")
	b.signal(syscall.SIGKILL)
	b.wait() // for the machine, too
}

// TestOutputThatNobodyTakes checks that a reader that stops reading does not keep the machine alive.
func TestOutputThatNobodyTakes(t *testing.T) {
	needMachine(t)
	b := newBed(t, "--device", "none", "--timeout", "15s", "sh", "-c", "echo ready; exec cat /dev/zero")
	b.startUntil("ready") // and then reads no more
	b.ends(exitTimeLimit)
}

func TestUnusableProgram(t *testing.T) {
	for _, c := range []struct {
		name    string
		args    []string
		code    int
		message string
	}{
		{"usage", []string{"--no-such-flag", "true"}, exitUsage, "no-such-flag"},
		{"nothing", nil, exitUsage, "name a program"},
		{"not found", []string{"no-such-program"}, exitNotFound, "no-such-program: not found"},
		{"folder", []string{"/"}, exitCannotExecute, "is a folder"},
		{"no permission", []string{"/etc/passwd"}, exitCannotExecute, "is not executable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, c.args...)
			b.runs(c.code, "testbed: ", c.message)
			if b.stdout.Len() > 0 {
				t.Errorf("stdout is %q, want nothing", b.stdout.String())
			}
		})
	}
}

// TestBrokenProgram is about errors that only the attempt to execute shows.
func TestBrokenProgram(t *testing.T) {
	needMachine(t)
	path := filepath.Join(t.TempDir(), "broken")
	check(t, os.WriteFile(path, []byte("#!/no/such/interpreter\n"), 0o755))
	b := newBed(t, "--device", "none", path)
	b.runs(exitNotFound, "cannot run "+path)
}

// copyModule copies the test bed into a folder with a space in its name.
func copyModule(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "a test bed")
	check(t, os.CopyFS(folder, os.DirFS("..")))
	return folder
}

// writeModule makes an unrelated module.
func writeModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"go.mod": "module example.com/other\n\ngo 1.24\n",
		"sum.go": "package other\n\nfunc Sum(a, b int) int {\n\tif a == 0 {\n\t\treturn b\n\t}\n\treturn a + b\n}\n",
		"sum_test.go": `package other

import (
	"os"
	"testing"
)

func TestSum(t *testing.T) {
	if Sum(1, 2) != 3 {
		t.Fail()
	}
	if _, err := os.Stat("/sys/class/infiniband/rxe0"); err != nil {
		t.Fatal(err)
	}
	os.WriteFile("trace", nil, 0o644)
}
`,
		"cmd/main.go": "package main\n\nimport \"os\"\n\nfunc main() {\n\tprintln(os.Args[1])\n\tos.Exit(3)\n}\n",
	})
	return dir
}

func goCommand(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestGoTestWithCoverage(t *testing.T) {
	needMachine(t)
	dir := writeModule(t)
	exec := "'" + filepath.Join(copyModule(t), "run") + "'"
	out, err := goCommand(t, dir, "test", "-exec", exec, "-coverprofile=c.out", "-v", ".")
	if err != nil || !strings.Contains(out, "--- PASS: TestSum") || !strings.Contains(out, "coverage: 66.7%") {
		t.Fatalf("go test: %v\n%s", err, out)
	}
	if profile, err := os.ReadFile(filepath.Join(dir, "c.out")); !strings.Contains(string(profile), "sum.go:7.2,7.14 1 1") {
		t.Errorf("the profile is %q (%v)", profile, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "trace")); err == nil {
		t.Error("the test's file is in the package's folder, which is not shared")
	}
}

func TestGoRun(t *testing.T) {
	needMachine(t)
	out, err := goCommand(t, writeModule(t), "run", "-exec", "'"+launcher(t)+"'", "./cmd", "two words")
	// The test bed first prints what it boots.
	if err == nil || !strings.HasSuffix(out, "\ntwo words\nexit status 3\n") {
		t.Errorf("go run: %v, %q", err, out)
	}
}

// A machine's console is in a file when the program has ended.
func TestConsoleLogOfMachine(t *testing.T) {
	needMachine(t)
	folder := t.TempDir()
	b := newBed(t, "--console-logs", folder, "--device", "none", "--verbose", "true")
	b.runs(0)
	files, err := filepath.Glob(filepath.Join(folder, "true-0-*.log"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the files are %q, want one: %v", files, err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || !bytes.Contains(text, []byte("Linux version")) {
		t.Errorf("%v: the file has\n%s", err, text)
	}
}

// The machine's clock runs like the host's.
func TestClockOfMachine(t *testing.T) {
	needMachine(t)
	b := newBed(t, "sh", "-c", "echo begin; while read up rest </proc/uptime; do echo $up; sleep 1; done")
	lines := bufio.NewScanner(b.startUntil("begin"))
	now := func() (inside time.Duration, outside time.Time) {
		t.Helper()
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		inside, err := time.ParseDuration(lines.Text() + "s")
		check(t, err)
		return inside, time.Now()
	}
	inside, outside := now()
	// The fault was a factor of four. A busy host may delay a line by seconds, which matters less the longer the test
	// runs.
	for {
		laterInside, laterOutside := now()
		within, real := laterInside-inside, laterOutside.Sub(outside)
		if within < 4*time.Second {
			continue
		}
		if within <= 2*real && real <= 4*within {
			break
		}
		if within > time.Minute {
			t.Errorf("in %v the machine's clock went on by %v", real, within)
			break
		}
	}
	b.signal(syscall.SIGTERM)
	b.wait()
}

func TestShellOnTerminal(t *testing.T) {
	needMachine(t)
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("needs the command script, which makes a terminal")
	}
	b := newBed(t)
	b.cmd = exec.Command(script, "--quiet", "--return", "--command",
		"stty rows 31 columns 97; '"+launcher(t)+"' --shell; echo code $?; stty -a", "/dev/null")
	b.cmd.Env = append(os.Environ(), "TERM=dumb")
	b.cmd.Stdout, b.cmd.Stderr = &b.stdout, &b.stderr
	// This is typed ahead. It waits in the terminal until the shell reads.
	b.cmd.Stdin = strings.NewReader("stty size; tty; rdma link show rxe0/1; exit 7\n")
	b.runs(0)
	out := b.stdout.String()
	for _, part := range []string{"31 97", "/dev/pts/0", "state ACTIVE", "code 7", " icanon", " echo "} {
		if !strings.Contains(out, part) {
			t.Errorf("the terminal shows %q (script says %q), want it to contain %q", out, b.stderr.String(), part)
		}
	}
}
