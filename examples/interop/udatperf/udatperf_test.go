package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/udat/udattest"
)

// childVariable makes the processes that a test starts behave as udatperf.
const childVariable = "UDATPERF_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	udattest.Patience = 2 * time.Minute // for whole runs of several processes on a busy machine
	udattest.Main(m)
}

func small(adapter string) settings {
	return settings{
		adapter: adapter, qual: udattest.ConnQual(), sizes: []int{1, 5000}, count: 20, warmup: 3, window: 4, timeout: udattest.Patience,
		measures: []measure{measureLatency, measureBandwidth},
	}
}

// present returns the operations that the adapter's device must have.
func present(t *testing.T, adapter string) []operation {
	t.Helper()
	operations := []operation{opSend, opWrite, opRead}
	if !udattest.IWARP(t, udattest.Open(t, adapter)) {
		operations = append(operations, opFetchAdd, opCmpSwap)
	}
	return operations
}

func TestBothProcesses(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			t.Setenv(childVariable, "1")
			s := small(adapter)
			var got []result
			if err := runBoth(udattest.Context(t), s, nil, func(r result) error { got = append(got, r); return nil }); err != nil {
				t.Fatal(err)
			}
			s.operations = present(t, adapter)
			steps := s.steps()
			if len(got) != len(steps) {
				t.Errorf("got %d results, want %d", len(got), len(steps))
			}
			for i, step := range steps {
				if i >= len(got) || got[i].Operation != step.Operation || got[i].Measure != step.Measure || got[i].Bytes != step.Size {
					t.Fatalf("result %d of %d is not that of %v", i, len(got), step)
				}
			}
		})
	}
}

// If the server cannot start, the error is the server's.
func TestServerThatDoesNotStart(t *testing.T) {
	udattest.Names(t)
	t.Setenv(childVariable, "1")
	err := runBoth(udattest.Context(t), small("nosuch"), nil, func(result) error { return nil })
	const text = "the server: udat: dat_ia_open: DAT_PROVIDER_NOT_FOUND"
	if err == nil || !strings.HasPrefix(err.Error(), text) {
		t.Errorf("got %v, want %s", err, text)
	}
}

// Ctrl-C ends both processes cleanly: with the results so far, one line and exit code 1.
func TestInterrupt(t *testing.T) {
	adapter := udattest.Names(t)[0]
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx := udattest.Context(t)
	// The first size is quick. The second takes longer than the test.
	cmd := exec.CommandContext(ctx, program, "-provider", adapter, "-op", "read", "-measure", "latency", "-sizes", "1,16777216", "-warmup", "10", "-count", "2000", "-format", "csv")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	var output strings.Builder
	for n := 0; lines.Scan(); n++ {
		output.WriteString(lines.Text() + "\n")
		if n == 1 { // behind the header
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	// On a busy machine it may print its progress before.
	if got := complaint.String(); !strings.HasSuffix("\n"+got, "\nudatperf: interrupted\n") {
		t.Errorf("it said %q", got)
	}
	if records, err := csv.NewReader(strings.NewReader(output.String())).ReadAll(); err != nil || len(records) != 2 {
		t.Errorf("it wrote %q: %v", output.String(), err)
	}
}

// Usage errors are found before any measurement: they need no adapter.
func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"-none"}, {"-count", "0"}, {"-count", "x"}, {"-op", "x"}, {"-sizes", "0"}, {"-format", "x"}, {"-server", "-connect", "h"}, {"word"}} {
		err := run(args, io.Discard, io.Discard)
		if wrong := new(usageError); !errors.As(err, &wrong) {
			t.Errorf("%q: %v, want a wrong use", args, err)
		}
	}
	folder := t.TempDir()
	err := run([]string{"-svg", filepath.Join(folder, "none", "x.svg"), "-provider", "none"}, io.Discard, io.Discard)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a picture that cannot be written: %v", err)
	}
	// When nothing was measured, an existing file stays, and no new one is left.
	kept, made := filepath.Join(folder, "kept.svg"), filepath.Join(folder, "made.svg")
	if err := os.WriteFile(kept, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{kept, made} {
		if err := checkPicture(file); err != nil {
			t.Error(err)
		}
	}
	if content, err := os.ReadFile(kept); string(content) != "kept" {
		t.Errorf("the picture is %q, %v", content, err)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("an empty picture is left")
	}
}

// A client without a server fails, and says so.
func TestNoServer(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		ia := udattest.Open(t, adapter)
		err := measureAll(udattest.Context(t), small(adapter), udattest.Address(t, ia).String(), nil, func(result) error { return nil })
		for _, text := range []string{"start the server first", "DAT_CONNECTION_EVENT_NON_PEER_REJECTED"} {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v, want it to say %s", err, text)
			}
		}
	}
}

// The end of the context ends both sides during a run, and everything is freed.
func TestCancel(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		for _, wait := range []bool{false, true} {
			s := small(adapter)
			s.wait = wait
			ctx, cancel := context.WithCancel(udattest.Context(t))
			served, address := startServer(t, ctx, s)
			err := measureAll(ctx, s, address, nil, func(result) error { cancel(); return nil })
			// Either may see the other leave before it checks the context.
			if got := reason(ctx, err); got != errInterrupted {
				t.Errorf("%s: the client ended with %v", adapter, got)
			}
			if got := reason(ctx, <-served); got != errInterrupted {
				t.Errorf("%s: the server ended with %v", adapter, got)
			}
		}
	}
}

// startServer runs a server in this process and returns its end and its address.
func startServer(t *testing.T, ctx context.Context, s settings) (<-chan error, string) {
	t.Helper()
	ready, served := make(chan string, 1), make(chan error, 1)
	go func() { served <- serve(ctx, s, func(address string) { ready <- address }) }()
	select {
	case text := <-ready:
		return served, text
	case err := <-served:
		t.Fatalf("the server ended with %v", err)
		return nil, ""
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-op jump":              `-op: "jump" is not one of send, write, read, fetch-add, compare-swap`,
		"-measure length":       `-measure: "length" is not one of latency, bandwidth`,
		"-sizes 8,0":            `-sizes: "0" is not a number from 1 to 16777216`,
		"-sizes 16777217":       `-sizes: "16777217" is not a number from 1 to 16777216`,
		"-count 0":              "-count must be 1 to 10000000",
		"-warmup -1":            "-warmup must be 0 to 10000000",
		"-window 1025":          "-window must be 1 to 1024",
		"-timeout 0s":           "-timeout must be more than 0",
		"-format pdf":           `-format: "pdf" is not one of table, json, csv`,
		"-server -connect here": "-server and -connect exclude each other",
		"-speed 3":              "flag provided but not defined: -speed",
		"more":                  `unexpected argument "more"`,
	} {
		var stdout, stderr bytes.Buffer
		err := run(strings.Fields(args), &stdout, &stderr)
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
		if stdout.Len()+stderr.Len() > 0 {
			t.Errorf("%s: it writes %q and %q", args, stdout.String(), stderr.String())
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := oneLine(errors.Join(errors.New("one"), errors.New("two"))); got != "one; two" {
		t.Errorf("got %q", got)
	}
}

// An interruption is reported in one word, unless something was left behind.
func TestReason(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	broken := errors.New("broken")
	if got := reason(ctx, broken); got != broken {
		t.Errorf("without an interruption: %v", got)
	}
	cancel()
	if got := reason(ctx, broken); got != errInterrupted {
		t.Errorf("with an interruption: %v", got)
	}
	if got := oneLine(reason(ctx, errors.Join(broken, closeError{errors.New("left")}))); got != "interrupted; left" {
		t.Errorf("with something left: %s", got)
	}
	if got := reason(ctx, nil); got != nil {
		t.Errorf("without an error: %v", got)
	}
}
