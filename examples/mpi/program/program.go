// Package program is the frame of the programs of examples/mpi: flags, the start of the ranks if no launcher has
// started them, signals and exit codes.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/mpi/launch"
	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/examples/mpi/pmi"
)

// Program is what the ranks of a program do.
type Program struct {
	Name  string
	Ranks int // default of -n

	// Flags adds the program's own flags. The flags n, provider, timeout and bound exist already.
	Flags func(flags *flag.FlagSet)

	// Check returns a UsageError if the flags are wrong for that number of ranks.
	Check func(ranks int) error

	// Run is what each rank does. What it writes to out is printed; if the program has started its ranks itself, each
	// line follows the number of its rank.
	Run func(ctx context.Context, w *mpi.World, out io.Writer) error
}

// UsageError is a flag or a value that cannot be used.
type UsageError struct{ error }

// Usage returns one.
func Usage(format string, values ...any) error { return &UsageError{fmt.Errorf(format, values...)} }

// errInterrupted ends a run at Ctrl-C.
var errInterrupted = errors.New("interrupted")

// Main runs the program with the arguments of the process, and exits.
func (p Program) Main() {
	err := p.Start(os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	code := 1
	var exit *launch.ExitError
	if errors.As(err, &exit) {
		code = exit.Code
	}
	if wrong := new(UsageError); errors.As(err, &wrong) {
		code = 2
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", p.Name, strings.ReplaceAll(err.Error(), "\n", "; "))
	os.Exit(code)
}

// Start runs the program: as a rank if a launcher has started it, else as the launcher of its ranks on this machine.
func (p Program) Start(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints errors
	ranks := flags.Int("n", p.Ranks, fmt.Sprintf("ranks to start, 1 to %d, unless a launcher has started them", launch.MaxRanks))
	adapters := flags.String("provider", os.Getenv("UDAT_TEST_IA"), "`name` of the adapter, or a list with commas, of which it is the first; default: $UDAT_TEST_IA, else the first that opens")
	timeout := flags.Duration("timeout", 10*time.Minute, "time limit of the run")
	bound := flags.Duration("bound", 0, "longest time until the program notices that a rank cannot be reached; default 30s")
	p.Flags(flags)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(stderr, "Usage of %s:\n", p.Name)
			flags.SetOutput(stderr)
			flags.PrintDefaults()
			return err
		}
		return &UsageError{err}
	}
	switch {
	case flags.NArg() > 0:
		return Usage("unexpected argument %q", flags.Arg(0))
	case *ranks < 1 || *ranks > launch.MaxRanks:
		return Usage("-n must be 1 to %d", launch.MaxRanks)
	case *timeout <= 0:
		return Usage("-timeout must be more than 0")
	case *bound < 0:
		return Usage("-bound must not be less than 0")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if pmi.Launched() {
		name, _, _ := strings.Cut(*adapters, ",")
		limited, cancel := context.WithTimeoutCause(ctx, *timeout, fmt.Errorf("the run took longer than -timeout %v", *timeout))
		defer cancel()
		err := p.rank(limited, mpi.Options{Adapter: name, Bound: *bound}, stdout)
		if err != nil && ctx.Err() != nil {
			os.Exit(1) // the launcher says why
		}
		return err
	}
	if err := p.Check(*ranks); err != nil {
		return err
	}
	names, err := adapter.Names(*adapters)
	if err != nil {
		return err
	}
	job := launch.Job{Ranks: *ranks, Stdout: stdout, Stderr: stderr, Args: append(slices.Clone(args), "-provider", names[0])}
	if err := job.Run(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// rank runs the program as a rank.
func (p Program) rank(ctx context.Context, options mpi.Options, out io.Writer) error {
	w, err := mpi.Init(ctx, options)
	if err != nil {
		return err
	}
	if err = p.Check(w.Size()); err == nil {
		err = p.Run(ctx, w, out)
	}
	// A world that has failed returns the same error when it is closed.
	if closed := w.Close(); err == nil {
		err = closed
	}
	return err
}
