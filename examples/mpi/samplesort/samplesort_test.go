package main

import (
	"bytes"
	"fmt"
	"os"
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

// Ranks without numbers, with fewer numbers than samples, and with many numbers all sort.
func TestSort(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		for _, n := range []struct{ ranks, numbers int }{{3, 0}, {3, 1}, {4, 30_000}} {
			t.Run(fmt.Sprintf("%s/%d ranks/%d", adapter, n.ranks, n.numbers), func(t *testing.T) {
				var stdout, stderr bytes.Buffer
				err := sorter().Start([]string{"-provider", adapter, "-n", fmt.Sprint(n.ranks), "-numbers", fmt.Sprint(n.numbers)}, &stdout, &stderr)
				if err != nil || stderr.Len() > 0 {
					t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
				}
				for _, line := range []string{
					fmt.Sprintf("rank 0: %s: %d numbers on %d ranks sorted in ", adapter, n.ranks*n.numbers, n.ranks),
					"rank 0: they are in order, and none is missing\n",
				} {
					if !strings.Contains(stdout.String(), line) {
						t.Errorf("no %q in\n%s", line, stdout.String())
					}
				}
			})
		}
	}
}

// MPICH's launcher starts the ranks.
func TestHydra(t *testing.T) {
	programtest.Hydra(t, 4, []string{
		"%s: 40000 numbers on 4 ranks sorted in ",
		"they are in order, and none is missing\n",
	}, "-numbers", "10000")
}

// A single rank sorts, and verify finds mistakes.
func TestVerify(t *testing.T) {
	if os.Getenv("PMI_FD") != "" {
		t.Skip("started by a launcher")
	}
	w, err := mpi.Init(t.Context(), mpi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	mine := []int{5, -3, 5, 0}
	sorted, err := sortAll(w.Comm, append([]int(nil), mine...))
	if err != nil || fmt.Sprint(sorted) != "[-3 0 5 5]" {
		t.Errorf("got %v, %v", sorted, err)
	}
	if err := verify(w.Comm, mine, sorted); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string][]int{"order": {0, -3, 5, 5}, "another number": {-3, 0, 4, 5}, "one less": {-3, 0, 5}, "swapped for others": {-4, 1, 5, 5}} {
		if err := verify(w.Comm, mine, wrong); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-n 0":        "-n must be 1 to 64",
		"-numbers -1": fmt.Sprintf("-numbers must be 0 to %d", maxNumbers),
	} {
		var out bytes.Buffer
		if err := sorter().Start(strings.Fields(args), &out, &out); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}
