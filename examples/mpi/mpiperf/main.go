// Mpiperf measures how fast package mpi passes messages: latency, bandwidth in one
// direction and in both, message rate, barrier, allreduce and alltoall. It is
// started as any program of package mpi is. Rank 0 prints a table, or lines with
// commas for a program to read.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/goudat/goudat/examples/mpi/launch"
	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/examples/mpi/pmi"
)

// settings say what is to be measured.
type settings struct {
	adapter string
	tests   []test
	sizes   []int         // bytes of a message
	time    time.Duration // that a measurement takes at least
	csv     bool
	stats   bool // of each rank, at the end
}

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "mpiperf:", err)
	code := 1
	var exit *launch.ExitError
	if errors.As(err, &exit) {
		code = exit.Code
	}
	os.Exit(code)
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("mpiperf", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var s settings
	ranks := flags.Int("n", 2, fmt.Sprintf("ranks to start, 1 to %d, if nothing else has started some", launch.MaxRanks))
	flags.StringVar(&s.adapter, "provider", "", "`name` of the adapter")
	names := flags.String("tests", "all", "what to measure, with commas between: "+strings.Join(testNames(), ", "))
	sizes := flags.String("sizes", "8,1024,8192,65536,1048576", "`bytes` of messages, with commas between")
	flags.DurationVar(&s.time, "time", 500*time.Millisecond, "how long a measurement takes at least")
	flags.BoolVar(&s.stats, "stats", false, "print what each rank has counted")
	flags.BoolVar(&s.csv, "csv", false, "lines for a program to read")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	if s.tests, err = findTests(*names); err != nil {
		return err
	}
	if s.sizes, err = parseSizes(*sizes); err != nil {
		return err
	}
	if s.time <= 0 {
		return errors.New("-time must be more than 0")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !pmi.Launched() {
		return launch.Job{Ranks: *ranks, Args: args, Stdout: stdout, Stderr: stderr}.Run(ctx)
	}
	world, err := mpi.Init(ctx, mpi.Options{Adapter: s.adapter})
	if err != nil {
		return err
	}
	err = s.measure(world, stdout)
	if closed := world.Close(); err == nil {
		err = closed
	}
	return err
}

func parseSizes(list string) (sizes []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		size, err := strconv.Atoi(text)
		if err != nil || size < 0 || size > 1<<30 {
			return nil, fmt.Errorf("-sizes has %q, it must be bytes from 0 to %d", text, 1<<30)
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}
