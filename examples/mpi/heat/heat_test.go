package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/pmi"
	"github.com/goudat/goudat/examples/mpi/program/programtest"
	"github.com/goudat/goudat/udat/udattest"
)

// childVariable makes a process of this test binary run heat.
const childVariable = "HEAT_TEST_CHILD"

func TestMain(m *testing.M) {
	if pmi.Launched() || os.Getenv(childVariable) != "" {
		main()
		return
	}
	udattest.Patience = 2 * time.Minute // for whole runs of several processes on a busy machine
	udattest.Main(m)
}

// Several ranks compute the same as one process.
func TestHeat(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			err := heat().Start([]string{"-provider", adapter, "-n", "3", "-cells", "40", "-steps", "30"}, &stdout, &stderr)
			if err != nil || stderr.Len() > 0 {
				t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
			}
			for _, line := range []string{
				fmt.Sprintf("rank 0: %s: 40 x 40 cells, 30 steps, 3 ranks with 12 rows or one more\n", adapter),
				fmt.Sprintf("rank 0: temperature in the middle %.6f\n", solve(40, 30).row(20)[20]),
				"rank 0: all 1600 cells are what one process computes\n",
			} {
				if !strings.Contains(stdout.String(), line) {
					t.Errorf("no %q in\n%s", line, stdout.String())
				}
			}
		})
	}
}

// MPICH's launcher starts the ranks.
func TestHydra(t *testing.T) {
	programtest.Hydra(t, 4, []string{
		"%s: 40 x 40 cells, 30 steps, 4 ranks with 9 rows or one more\n",
		"all 1600 cells are what one process computes\n",
	}, "-cells", "40", "-steps", "30")
}

// A run with a checkpoint continues from there, on another number of ranks, and gets the same result.
func TestCheckpoint(t *testing.T) {
	adapter := udattest.Names(t)[0]
	file := filepath.Join(t.TempDir(), "plate")
	start := func(ranks, steps int) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if err := heat().Start([]string{"-provider", adapter, "-n", fmt.Sprint(ranks), "-cells", "30", "-steps", fmt.Sprint(steps), "-checkpoint", file, "-every", "20"}, &stdout, &stderr); err != nil {
			t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
		}
		return stdout.String()
	}
	if out := start(3, 50); strings.Contains(out, "going on") {
		t.Errorf("without a checkpoint:\n%s", out)
	}
	if out := start(2, 70); !strings.Contains(out, "continuing after step 50\n") || !strings.Contains(out, "\nrank 0: 20 steps took ") || !strings.Contains(out, "are what one process computes") {
		t.Errorf("with one:\n%s", out)
	}
	for name, content := range map[string]string{"empty": "", "another": strings.Repeat("text", 100)} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := heat().Start([]string{"-provider", adapter, "-n", "2", "-cells", "30", "-checkpoint", file}, io.Discard, io.Discard); err == nil {
			t.Errorf("%s file: no error", name)
		}
	}
	if _, _, err := read(settings{cells: 31, steps: 100, checkpoint: file}); err == nil {
		t.Error("the checkpoint of another plate: no error")
	}
}

// Ctrl-C ends all ranks, with one line and exit code 1.
func TestInterrupt(t *testing.T) {
	adapter := udattest.Names(t)[0]
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(udattest.Context(t), program, "-provider", adapter, "-n", "2", "-cells", "10", "-steps", fmt.Sprint(maxSteps))
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
	if _, err := stdout.Read(make([]byte, 1)); err != nil { // the first line
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	if got := complaint.String(); !strings.HasSuffix(got, "heat: interrupted\n") {
		t.Errorf("it said %q", got)
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-n 0":           "-n must be 1 to 64",
		"-n 65":          "-n must be 1 to 64",
		"-n 4 -cells 5":  "4 ranks are more than there are rows to compute, 3",
		"-cells 2":       "-cells must be 3 to 4096",
		"-steps 0":       "-steps must be 1 to 10000000",
		"-every 0":       "-every must be 1 or more",
		"-timeout 0s":    "-timeout must be more than 0",
		"-temperature 3": "flag provided but not defined: -temperature",
		"more":           `unexpected argument "more"`,
	} {
		var stdout, stderr bytes.Buffer
		if err := heat().Start(strings.Fields(args), &stdout, &stderr); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

// The shares of the ranks contain each row but the edges once, and have about the same size.
func TestShare(t *testing.T) {
	for ranks := 1; ranks <= 9; ranks++ {
		row := 1
		for rank := range ranks {
			first, end := share(rank, ranks, 12)
			if first != row || end-first < 10/ranks || end-first > 10/ranks+1 {
				t.Errorf("rank %d of %d has rows %d to %d", rank, ranks, first, end)
			}
			row = end
		}
		if row != 11 {
			t.Errorf("%d ranks have the rows before %d", ranks, row)
		}
	}
}

// After many steps the plate reaches its final state: the sine of the upper edge decreases as a hyperbolic sine.
func TestSolution(t *testing.T) {
	const cells = 41
	p := solve(cells, 4000)
	y, x := cells/4, cells/2
	span := float64(cells - 1)
	want := hot * math.Sin(math.Pi*float64(x)/span) * math.Sinh(math.Pi*(span-float64(y))/span) / math.Sinh(math.Pi)
	if got := p.row(y)[x]; math.Abs(got-want) > hot/1000.0 {
		t.Errorf("cell %d of row %d has %v, want %v", x, y, got, want)
	}
}

func TestCompare(t *testing.T) {
	a := solve(9, 3).now
	b := append([]float64(nil), a...)
	if err := compare(a, b, 9); err != nil {
		t.Error(err)
	}
	b[9+4] += 1e-12
	if err := compare(a, b, 9); err == nil || !strings.HasPrefix(err.Error(), "cell 4 of row 1 has ") {
		t.Errorf("got %v", err)
	}
}
