package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/examples/mpi/pmi"
	"github.com/goudat/goudat/examples/mpi/program/programtest"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) {
	if pmi.Launched() {
		main()
		return
	}
	udattest.Patience = 2 * time.Minute // for whole runs of several processes on a busy machine
	udattest.Main(m)
}

// Several ranks find the solution, as one does.
func TestSolve(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			err := solver().Start([]string{"-provider", adapter, "-n", "3", "-cells", "10"}, &stdout, &stderr)
			if err != nil || stderr.Len() > 0 {
				t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
			}
			for _, text := range []string{
				fmt.Sprintf("rank 0: %s: 1000 unknowns on 3 ranks, ", adapter), "rank 0: one process takes ",
			} {
				if !strings.Contains(stdout.String(), text) {
					t.Errorf("no %q in\n%s", text, stdout.String())
				}
			}
		})
	}
}

// MPICH's launcher starts the ranks.
func TestHydra(t *testing.T) {
	programtest.Hydra(t, 4, []string{"%s: 1000 unknowns on 4 ranks, ", "one process takes "}, "-cells", "10")
}

// The matrix is that of the cube: an inner cell has 26 neighbors, and one in a corner has 7.
func TestMatrix(t *testing.T) {
	w, err := mpi.Init(t.Context(), mpi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a, err := newMatrix(w.Comm, 3)
	if err != nil {
		t.Fatal(err)
	}
	for row, neighbors := range map[int]int{0: 7, 1: 11, 4: 17, 13: 26, 26: 7} {
		if got := a.first[row+1] - a.first[row] - 1; got != neighbors {
			t.Errorf("row %d has %d neighbors, want %d", row, got, neighbors)
		}
		if sum := a.rowSums()[row]; sum != float64(26-neighbors) {
			t.Errorf("row %d has the sum %v", row, sum)
		}
	}
	x, steps, err := solve(w.Comm, 3, 100, 1e-12)
	if err != nil || steps < 2 {
		t.Fatalf("%d steps, %v", steps, err)
	}
	for i, v := range x {
		if math.Abs(v-1) > 1e-9 {
			t.Errorf("unknown %d is %v", i, v)
		}
	}
	if _, _, err := solve(w.Comm, 3, 1, 1e-12); err == nil {
		t.Error("one step was enough")
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-cells 1":       "-cells must be 2 to 256",
		"-n 5 -cells 4":  "5 ranks are more than there are layers, 4",
		"-most 0":        "-most must be 1 or more",
		"-tolerance 0":   "-tolerance must be between 0 and 1",
		"-timeout 0s":    "-timeout must be more than 0",
		"-bound -1s":     "-bound must not be less than 0",
		"-temperature 3": "flag provided but not defined: -temperature",
		"more":           `unexpected argument "more"`,
	} {
		var out bytes.Buffer
		if err := solver().Start(strings.Fields(args), &out, &out); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}
