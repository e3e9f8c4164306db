// Udatperf measures latency and bandwidth of sends, RDMA writes, RDMA reads and
// atomic operations over message sizes, between two processes. See README.md.
package main

import (
	"cmp"
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
	"github.com/goudat/goudat/examples/internal/messagesizes"
	"github.com/goudat/goudat/udat"
)

// settings say what to measure, and how.
type settings struct {
	adapter    string
	qual       udat.ConnQual
	operations []operation // empty: all that the adapter has
	measures   []measure
	sizes      []int // bytes
	count      int
	warmup     int
	window     int
	wait       bool
	timeout    time.Duration // of the measurements on one adapter
}

func (s settings) shape() shape {
	return shape{largest: max(slices.Max(s.sizes), atomicSize), window: s.window, wait: s.wait}
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "udatperf:", oneLine(err))
		if wrong := new(usageError); errors.As(err, &wrong) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// usageError is an invalid flag or value.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usage(format string, values ...any) error { return &usageError{fmt.Errorf(format, values...)} }

// oneLine returns the text of an error, which has several lines if it joins several errors.
func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

// errInterrupted ends a run at Ctrl-C.
var errInterrupted = errors.New("interrupted")

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("udatperf", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller reports the error
	adapterList := flags.String("provider", os.Getenv("UDAT_TEST_IA"), "`names` of the adapters to measure on, separated by commas; default: $UDAT_TEST_IA, else all of the registry that open")
	operations := flags.String("op", "", fmt.Sprintf("`operations` to measure, separated by commas, of %s; default: all that the adapter's device has", strings.Join(operationNames, ", ")))
	measures := flags.String("measure", strings.Join(measureNames, ","), "latency, bandwidth or both")
	sizes := flags.String("sizes", "8,64,512,4096,32768", fmt.Sprintf("message sizes in `bytes`, separated by commas, each 1 to %d", maxSize))
	var s settings
	flags.IntVar(&s.count, "count", 1000, "operations to measure for each size")
	flags.IntVar(&s.warmup, "warmup", 100, "operations before those")
	flags.IntVar(&s.window, "window", 64, "outstanding operations when bandwidth is measured")
	flags.BoolVar(&s.wait, "wait", false, "wait for completions instead of polling")
	format := flags.String("format", "table", "table, json or csv")
	picture := flags.String("svg", "", "draw the curves to this `file`")
	qual := flags.Uint("qual", 7472, "connection qualifier that the server listens on")
	flags.DurationVar(&s.timeout, "timeout", 10*time.Minute, "time limit for the measurements on one adapter")
	server := flags.Bool("server", false, "be the server, for one client on another host")
	connect := flags.String("connect", "", "be the client of the server on `host`")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr, "Usage of udatperf:")
			flags.SetOutput(stderr)
			flags.PrintDefaults()
			return err
		}
		return &usageError{err}
	}
	s.qual = udat.ConnQual(*qual)
	var err, err2, err3 error
	if *operations != "" {
		s.operations, err = parseList[operation]("-op", *operations)
	}
	s.measures, err2 = parseList[measure]("-measure", *measures)
	if s.sizes, err3 = messagesizes.Parse(*sizes, 1, maxSize, maxSizes); err3 != nil {
		err3 = fmt.Errorf("-sizes: %w", err3)
	}
	switch err := cmp.Or(err, err2, err3); {
	case err != nil:
		return &usageError{err}
	case flags.NArg() > 0:
		return usage("unexpected argument %q", flags.Arg(0))
	case *server && *connect != "":
		return usage("-server and -connect exclude each other")
	case s.count < 1 || s.count > maxCount:
		return usage("-count must be 1 to %d", maxCount)
	case s.warmup < 0 || s.warmup > maxCount:
		return usage("-warmup must be 0 to %d", maxCount)
	case s.window < 1 || s.window > maxWindow:
		return usage("-window must be 1 to %d", maxWindow)
	case s.timeout <= 0:
		return usage("-timeout must be more than 0")
	}
	report, err := newReporter(*format, stdout)
	if err != nil {
		return &usageError{err}
	}
	if *picture != "" && !*server {
		if err := checkPicture(*picture); err != nil {
			return fmt.Errorf("-svg: %w", err)
		}
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	names, err := adapter.Names(*adapterList)
	if err != nil {
		return err
	}
	if *server {
		s.adapter = names[0]
		return reason(ctx, serve(ctx, s, func(address string) { announce(stderr, s, address) }))
	}
	if *connect != "" {
		names = names[:1]
	}
	var all []result
	add := func(r result) error {
		all = append(all, r)
		return report.add(r)
	}
	for _, s.adapter = range names {
		err = within(ctx, s.timeout, func(ctx context.Context) error {
			if *connect != "" {
				return measureAll(ctx, s, *connect, newProgress(stderr), add)
			}
			return runBoth(ctx, s, newProgress(stderr), add)
		})
		if err != nil {
			break
		}
	}
	err = errors.Join(reason(ctx, err), report.finish())
	if err == nil && *picture != "" {
		err = writePicture(*picture, all)
	}
	return err
}

// reason reduces an error to one word if it is only the end of the run.
func reason(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	var left closeError
	if errors.As(err, &left) {
		return errors.Join(errInterrupted, left)
	}
	return errInterrupted
}

// within runs f for no longer than limit.
func within(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := f(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("the run took longer than -timeout %v: %w", limit, err)
	}
	return err
}

// checkPicture checks before the measurements whether the picture can be written. An existing file stays.
func checkPicture(name string) error {
	_, gone := os.Stat(name)
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	err = file.Close()
	if gone != nil {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

func writePicture(name string, results []result) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(drawSVG(file, results), file.Close())
}

// parseList reads names that are separated by commas.
func parseList[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](name, list string) ([]T, error) {
	var values []T
	for _, field := range strings.Split(list, ",") {
		var v T
		if err := P(&v).UnmarshalText([]byte(strings.TrimSpace(field))); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		values = append(values, v)
	}
	return values, nil
}
