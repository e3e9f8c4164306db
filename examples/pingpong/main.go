// Pingpong takes an endpoint through its whole life. Two processes connect, exchange messages, write and read each
// other's memory by RDMA, check every byte, and disconnect, gracefully and abruptly. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/internal/messagesizes"
	"github.com/goudat/goudat/udat"
)

// settings are what both sides must know; the client sends them to the server.
type settings struct {
	provider string
	qual     udat.ConnQual
	sizes    []int
	count    int
	graceful bool
	timeout  time.Duration
	verbose  bool // show each step
}

func (s settings) largest() int { return slices.Max(s.sizes) }

func main() {
	err := run()
	var usage *usageError
	switch {
	case err == nil:
	case errors.Is(err, errInterrupted):
		fmt.Fprintln(os.Stderr, "pingpong: interrupted")
		os.Exit(interrupted)
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "pingpong:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "pingpong:", err)
		os.Exit(1)
	}
}

// interrupted is the exit code after Ctrl-C, as a shell reports it.
const interrupted = 130

// errInterrupted ends a run at Ctrl-C.
var errInterrupted = errors.New("interrupted")

// usageError is an invalid flag or value.
type usageError struct{ error }

func usage(format string, values ...any) error { return &usageError{fmt.Errorf(format, values...)} }

func run() error {
	providers := flag.String("provider", os.Getenv("UDAT_TEST_IA"), "registry `names` of the adapters to use, separated by commas; default: $UDAT_TEST_IA, else all that open")
	sizes := flag.String("sizes", "0,1,64,1024,4096,65536", "message sizes in `bytes`, separated by commas")
	count := flag.Int("count", 50, "round trips for each size")
	qual := flag.Uint("qual", 7471, "connection qualifier that the server listens on")
	disconnect := flag.String("disconnect", "", "graceful or abrupt; default: one run of each, or graceful with -connect")
	timeout := flag.Duration("timeout", 2*time.Minute, "time limit of one run")
	server := flag.Bool("server", false, "be the server, for one client on another host")
	connect := flag.String("connect", "", "be the client of the server on `host`")
	verbose := flag.Bool("verbose", false, "show each step, and the state of the endpoint at each")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	s := settings{qual: udat.ConnQual(*qual), count: *count, timeout: *timeout, verbose: *verbose, graceful: *disconnect != "abrupt"}
	var err error
	switch {
	case flag.NArg() > 0:
		return usage("unexpected argument %q", flag.Arg(0))
	case *server && *connect != "":
		return usage("-server and -connect exclude each other")
	case *count < 1 || *count > maxCount:
		return usage("-count must be 1 to %d", maxCount)
	case *timeout <= 0:
		return usage("-timeout must be more than 0")
	case !slices.Contains([]string{"", "graceful", "abrupt"}, *disconnect):
		return usage("-disconnect must be graceful or abrupt")
	}
	if s.sizes, err = messagesizes.Parse(*sizes, 0, maxSize, maxSizes); err != nil {
		return usage("-sizes: %w", err)
	}
	names, err := adapter.Names(*providers)
	if err != nil {
		return err
	}
	switch {
	case *server:
		s.provider = names[0]
		return reason(ctx, within(ctx, 0, func(ctx context.Context) error { return serve(ctx, s) }))
	case *connect != "":
		s.provider = names[0]
		return reason(ctx, within(ctx, s.timeout, func(ctx context.Context) error { return dial(ctx, s, *connect) }))
	}
	modes := []bool{true, false}
	if *disconnect != "" {
		modes = []bool{s.graceful}
	}
	for _, s.provider = range names {
		for _, s.graceful = range modes {
			if err := runBoth(ctx, s); err != nil {
				return reason(ctx, err)
			}
		}
	}
	fmt.Printf("pingpong: two processes exchanged messages, wrote and read each other's memory, and disconnected, over %s: every byte was right\n",
		strings.Join(names, " and "))
	return nil
}

// reason replaces errors that follow from an interrupt by the interrupt.
func reason(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

func within(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("the run took longer than -timeout %v: %w", limit, context.DeadlineExceeded))
		defer cancel()
	}
	return f(ctx)
}
