// Command sidebyside measures the same work in C and in Go by turns, and writes a page with the results. It is a part
// of scripts/bench.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/goudat/goudat/scripts/vm/control"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("sidebyside", flag.ContinueOnError)
	var r report
	var p programs
	flags.StringVar(&p.c, "c", "", "the twin in C")
	flags.StringVar(&p.golang, "go", "", "the twin in Go")
	flags.IntVar(&r.Rounds, "rounds", 9, "rounds of each measurement")
	work := flags.Float64("work", 1, "factor for the number of operations in a round")
	goals := flags.Bool("goals", true, "compare the ratios with their goals")
	only := flags.String("only", "", "only measurements whose name contains this")
	sweep := flags.Bool("sweep", true, "also measure over message sizes, for the plots")
	references := flags.Bool("references", false, "also measure with other programs")
	dtest := flags.String("dtest", "", "the native stack's dtest")
	var many programs
	flags.StringVar(&many.c, "scale-c", "", "the program in C for many endpoints")
	flags.StringVar(&many.golang, "scale-go", "", "the program in Go for many endpoints; with both, they are measured")
	few := flags.Bool("scale-few", false, "measure only a few endpoints")
	most := flags.Int("scale-most", math.MaxInt, "the largest number of endpoints")
	dapltest := flags.String("dapltest", "", "the native stack's dapltest")
	test := flags.String("calls", "", "a test binary, whose BenchmarkCall is run")
	instructions := flags.Bool("instructions", false, "its numbers are instructions; add them to the file")
	processors := flags.Int("processors", 0, "only measurements that need this many processors under User-Mode Linux; 0: all")
	more := flags.Bool("more", false, "add the results to those in the file")
	file := flags.String("json", "", "file for the results")
	page := flags.String("page", "", "write this page from the file, and measure nothing")
	flags.StringVar(&r.Command, "command", "", "the command as the user gave it")
	flags.StringVar(&r.Machine.Host, "host", "", "the user's machine")
	flags.StringVar(&r.Machine.Load, "load", "", "its load")
	flags.StringVar(&r.Machine.Stack, "stack", "", "the native libraries")
	flags.StringVar(&r.Machine.Compiler, "compiler", "", "the C compiler")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *file == "":
		return errors.New("-json is missing")
	case *page != "":
		return makePage(*file, *page)
	case r.Rounds < 1:
		return errors.New("-rounds must be 1 or more")
	}
	if *test != "" {
		return r.measureCalls(*test, *file, *instructions)
	}
	if *more {
		former, err := readReport(*file)
		if err != nil {
			return err
		}
		r = former
	}
	if rank, err := control.Rank(); err == nil && rank == farRank {
		return p.beFar()
	}
	if p.c != "" {
		wanted := func(m measurement) bool {
			return strings.Contains(m.name, *only) && (*sweep || !m.sweep) && (*processors == 0 || m.processors() == *processors) &&
				several() == (m.beside == "cut")
		}
		if err := r.measure(p, *work, wanted, *goals, *file); err != nil {
			return err
		}
	}
	if many.c != "" {
		if err := r.measureScale(many, *few, *most, *file); err != nil {
			return err
		}
	}
	if *references && *only == "" {
		fmt.Fprintln(os.Stderr, "bench: measuring with other programs")
		list := tools(*dtest, *dapltest, deviceOf(), adapters(), *work)
		measureReferences(list, os.Getenv("UDAT_TEST_ADDR"), min(r.Rounds, mostReferenceRounds), func(found reference) {
			r.References = append(r.References, found)
			r.write(*file)
		})
	}
	fmt.Println()
	r.writeTables(os.Stdout)
	r.writeReferences(os.Stdout)
	if r.Scale != nil {
		r.Scale.writeTables(os.Stdout)
	}
	return r.write(*file)
}

// measure runs the selected measurements on each adapter of the test device. If it ends early, the file has the results
// until then.
func (r *report) measure(p programs, work float64, wanted func(measurement) bool, goals bool, file string) error {
	former := r.Machine
	r.Machine.complete()
	if len(r.Results) > 0 {
		// This is a second machine, with fewer processors.
		r.Machine.CPUs = former.CPUs
	}
	names := adapters()
	if len(names) == 0 {
		return errors.New("UDAT_TEST_IA names no adapter: run this by scripts/bench")
	}
	list := choose(measurements(work), wanted, goals, r.Machine)
	if several() {
		if _, err := control.Meet(context.Background(), "far sides", ""); err != nil {
			return err
		}
		defer control.Meet(context.Background(), "measured", "")
	}
	for i, adapter := range names {
		fmt.Fprintln(os.Stderr, "bench: measuring on", adapter)
		err := compare(p, adapter, firstQual+2*i, list, r.Rounds, r.Machine, func(found result) error {
			r.Results = append(r.Results, found)
			return r.write(file)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", adapter, err)
		}
	}
	r.sort()
	return nil
}

// choose returns the wanted measurements that the machine can make, with their goals or without.
func choose(all []measurement, wanted func(measurement) bool, goals bool, where machine) (list []measurement) {
	for _, m := range all {
		switch {
		case !wanted(m):
			continue
		case m.churns && !where.patched():
			fmt.Fprintf(os.Stderr, "bench: leaving out %s, which ends the server with the libraries of the system\n", m.name)
			continue
		case !goals:
			m.goal = 0
			for i := range m.figures {
				m.figures[i].goal, m.figures[i].limit = 0, 0
			}
		}
		list = append(list, m)
	}
	return list
}

// callOperations is how many times each call is made in a round.
const callOperations = 20000

// measureCalls writes what single calls cost. Instructions need only one round. They are added to the times of an
// earlier run.
func (r *report) measureCalls(test, file string, instructions bool) error {
	if !instructions {
		r.Machine.complete()
		r.Calls = &calls{Command: r.Command, Machine: r.Machine}
		if err := r.Calls.run(test, r.Rounds, callOperations, false); err != nil {
			return err
		}
		return r.write(file)
	}
	former, err := readReport(file)
	if err != nil {
		return err
	}
	if err := former.Calls.run(test, 1, callOperations/10, true); err != nil {
		return err
	}
	fmt.Print(former.Calls.markdown())
	return former.write(file)
}

// measureScale measures many endpoints on each adapter of the test device, or a few.
func (r *report) measureScale(p programs, few bool, most int, file string) error {
	sizes := allSizes
	if few {
		sizes = fewSizes
	}
	sizes.endpoints = slices.DeleteFunc(slices.Clone(sizes.endpoints), func(n int) bool { return n > most })
	r.Scale = &scale{Command: r.Command, Machine: r.Machine, Rounds: r.Rounds}
	fmt.Fprintln(os.Stderr, "bench: measuring many endpoints")
	if err := r.Scale.measure(p, sizes, func() error { return r.write(file) }); err != nil {
		return err
	}
	if r.Scale.empty() {
		return errors.New("nothing could be measured with any number of endpoints")
	}
	return nil
}

// adapters returns the names of the test device's adapters.
func adapters() []string {
	return strings.FieldsFunc(os.Getenv("UDAT_TEST_IA"), func(r rune) bool { return r == ',' })
}

// mostReferenceRounds limits the time that other programs take.
const mostReferenceRounds = 5
