// Heat solves the heat equation on a square plate with several processes, which
// pass messages by package mpi, and compares with the serial result. See
// README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/mpi/launch"
	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/examples/mpi/pmi"
)

// settings say what is to be computed.
type settings struct {
	adapter string
	cells   int // in a row and in a column
	steps   int
	timeout time.Duration // of a run on one adapter
}

const (
	maxCells = 4096
	maxSteps = 10_000_000
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	code := 1
	var exit *launch.ExitError
	if errors.As(err, &exit) {
		code = exit.Code
	}
	if wrong := new(usageError); errors.As(err, &wrong) {
		code = 2
	}
	fmt.Fprintln(os.Stderr, "heat:", strings.ReplaceAll(err.Error(), "\n", "; "))
	os.Exit(code)
}

// usageError is a flag or a value that cannot be used.
type usageError struct{ error }

func usage(format string, values ...any) error { return &usageError{fmt.Errorf(format, values...)} }

// errInterrupted is what ends a run at Ctrl-C.
var errInterrupted = errors.New("interrupted")

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("heat", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is told by the caller
	var s settings
	ranks := flags.Int("n", 4, fmt.Sprintf("ranks, 1 to %d", launch.MaxRanks))
	adapters := flags.String("provider", os.Getenv("UDAT_TEST_IA"), "`names` of the adapters to run on, separated by commas; default: $UDAT_TEST_IA, else the first of the registry that opens")
	flags.IntVar(&s.cells, "cells", 128, fmt.Sprintf("cells in a row and in a column of the plate, 3 to %d", maxCells))
	flags.IntVar(&s.steps, "steps", 500, "steps in time")
	flags.DurationVar(&s.timeout, "timeout", 10*time.Minute, "most that a run on one adapter may take")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr, "Usage of heat:")
			flags.SetOutput(stderr)
			flags.PrintDefaults()
			return err
		}
		return &usageError{err}
	}
	switch {
	case flags.NArg() > 0:
		return usage("unexpected argument %q", flags.Arg(0))
	case *ranks < 1 || *ranks > launch.MaxRanks:
		return usage("-n must be 1 to %d", launch.MaxRanks)
	case s.cells < 3 || s.cells > maxCells:
		return usage("-cells must be 3 to %d", maxCells)
	case s.cells-2 < *ranks && !pmi.Launched():
		return usage("-n %d is more than there are rows to compute, %d", *ranks, s.cells-2)
	case s.steps < 1 || s.steps > maxSteps:
		return usage("-steps must be 1 to %d", maxSteps)
	case s.timeout <= 0:
		return usage("-timeout must be more than 0")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if pmi.Launched() {
		s.adapter, _, _ = strings.Cut(*adapters, ",")
		err := runRank(ctx, s, stdout)
		if err != nil && ctx.Err() != nil {
			os.Exit(1) // the launcher says why
		}
		return err
	}
	names, err := adapter.Names(*adapters)
	if err != nil {
		return err
	}
	if *adapters == "" {
		names = names[:1]
	}
	for _, name := range names {
		job := launch.Job{Ranks: *ranks, Stdout: stdout, Stderr: stderr, Args: []string{
			"-n", fmt.Sprint(*ranks), "-provider", name, "-cells", fmt.Sprint(s.cells), "-steps", fmt.Sprint(s.steps), "-timeout", s.timeout.String(),
		}}
		if err := job.Run(ctx); err != nil {
			if ctx.Err() != nil {
				return errInterrupted
			}
			return err
		}
	}
	return nil
}

// runRank is what each process does.
func runRank(ctx context.Context, s settings, out io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("the run took longer than -timeout %v", s.timeout))
	defer cancel()
	world, err := mpi.Init(ctx, mpi.Options{Adapter: s.adapter})
	if err != nil {
		return err
	}
	if rows := s.cells - 2; rows < world.Size() {
		err = usage("%d ranks are more than there are rows to compute, %d", world.Size(), rows)
	} else {
		err = compute(world, s, out)
	}
	// A world that has failed says so again when it is closed.
	if closed := world.Close(); err == nil {
		err = closed
	}
	return err
}
