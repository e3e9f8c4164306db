package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/pmi"
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

// Each test prints a line for each size.
func TestPerf(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			err := perf().Start([]string{"-provider", adapter, "-n", "3", "-time", "1ms", "-sizes", "8,20000"}, &stdout, &stderr)
			if err != nil || stderr.Len() > 0 {
				t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
			}
			for _, test := range tests {
				for _, size := range []int{8, 20000} {
					var value float64
					_, rest, found := strings.Cut(stdout.String(), fmt.Sprintf("rank 0: %-12s %9d ", test.name, size))
					if _, err := fmt.Sscanf(rest, "%g", &value); !found || err != nil || value <= 0 {
						t.Errorf("%s of %d bytes: %v, %v in\n%s", test.name, size, value, err, stdout.String())
					}
				}
			}
		})
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-sizes 8,x": fmt.Sprintf(`-sizes has "x"; sizes must be 0 to %d bytes`, maxSize),
		"-time 0s":   "-time must be more than 0",
		"-n 1":       "-n must be 2 or more",
	} {
		var out bytes.Buffer
		if err := perf().Start(strings.Fields(args), &out, &out); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}
