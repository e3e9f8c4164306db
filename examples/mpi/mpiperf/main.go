// Mpiperf measures how fast package mpi passes messages: latency, bandwidth in one direction and in both, message
// rate, barrier, allreduce and alltoall, and how much processor time a waiting rank uses. It is started like the
// other programs of package mpi. Rank 0 prints a table, or comma-separated lines for a program to read.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/examples/mpi/program"
)

func main() { perf().Main() }

// settings say what to measure.
type settings struct {
	tests []test
	sizes []int         // bytes of a message
	time  time.Duration // shortest time of a measurement
	csv   bool
	stats bool // print those of each rank at the end
}

func perf() program.Program {
	var s settings
	var names, sizes string
	return program.Program{
		Name: "mpiperf", Ranks: 2,
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&names, "tests", "all", "what to measure, separated by commas: "+strings.Join(testNames(), ", "))
			flags.StringVar(&sizes, "sizes", "8,1024,8192,65536,1048576", "`bytes` of messages, separated by commas")
			flags.DurationVar(&s.time, "time", 500*time.Millisecond, "shortest time of a measurement")
			flags.BoolVar(&s.stats, "stats", false, "print what each rank has counted")
			flags.BoolVar(&s.csv, "csv", false, "print lines for a program to read")
		},
		Check: func(int) error {
			var err error
			if s.tests, err = findTests(names); err != nil {
				return err
			}
			if s.sizes, err = parseSizes(sizes); err != nil {
				return err
			}
			if s.time <= 0 {
				return program.Usage("-time must be more than 0")
			}
			return nil
		},
		Run: func(_ context.Context, w *mpi.World, out io.Writer) error { return s.measure(w, out) },
	}
}

// maxSize is the longest message in bytes.
const maxSize = 1 << 30

func parseSizes(list string) (sizes []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		size, err := strconv.Atoi(text)
		if err != nil || size < 0 || size > maxSize {
			return nil, program.Usage("-sizes has %q; sizes must be 0 to %d bytes", text, maxSize)
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

func findTests(list string) (found []test, err error) {
	if list == "all" {
		return tests, nil
	}
next:
	for name := range strings.SplitSeq(list, ",") {
		for _, t := range tests {
			if t.name == name {
				found = append(found, t)
				continue next
			}
		}
		return nil, program.Usage("-tests has %q; the tests are %s", name, strings.Join(testNames(), ", "))
	}
	return found, nil
}

func testNames() (names []string) {
	for _, t := range tests {
		names = append(names, t.name)
	}
	return names
}

// print writes a result.
func (s settings) print(out io.Writer, t test, size int, value float64) {
	if s.csv {
		fmt.Fprintf(out, "%s,%d,%g,%s\n", t.name, size, value, t.unit)
		return
	}
	bytes := fmt.Sprint(size)
	if !t.sized {
		bytes = ""
	}
	fmt.Fprintf(out, "%-12s %9s %12.4g %s\n", t.name, bytes, value, t.unit)
}
