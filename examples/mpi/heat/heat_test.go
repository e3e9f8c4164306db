package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/pmi"
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

// Several ranks compute the same as one process, whichever launcher has started them.
func TestHeat(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, adapter := range udattest.Names(t) {
		for name, command := range map[string][]string{
			"heat":  {program, "-n", "4"},
			"Hydra": {"mpiexec.hydra", "-launcher", "fork", "-n", "4", program},
		} {
			t.Run(adapter+"/"+name, func(t *testing.T) {
				if _, err := exec.LookPath(command[0]); err != nil {
					t.Skip("no mpiexec.hydra, which Debian's package mpich has")
				}
				cmd := exec.CommandContext(udattest.Context(t), command[0], append(command[1:], "-provider", adapter, "-cells", "40", "-steps", "30")...)
				cmd.Env = append(os.Environ(), childVariable+"=1")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				for _, line := range []string{
					fmt.Sprintf("%s: 40 x 40 cells, 30 steps, 4 ranks with 9 rows or one more\n", adapter),
					fmt.Sprintf("temperature in the middle %.6f\n", solve(40, 30).row(20)[20]),
					"all 1600 cells are what one process computes\n",
				} {
					if strings.Count(string(out), line) != 1 {
						t.Errorf("not once %q in\n%s", line, out)
					}
				}
			})
		}
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
		"-n 65":          "-n must be 1 to 64",
		"-n 4 -cells 5":  "4 ranks are more than there are rows to compute, 3",
		"-cells 2":       "-cells must be 3 to 4096",
		"-steps 0":       "-steps must be 1 to 10000000",
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
