// Dapltest does the same as the native stack's acceptance test of that name, and talks to it: each side of a pair can
// be this program or the C program. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const (
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	c, err := parseCommand(args)
	switch {
	case errors.Is(err, errHelp):
		fmt.Print(usage)
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "dapltest: %v (dapltest -h lists the flags)\n", err)
		return exitUsage
	}
	switch c.test {
	case testServer:
		err = serve(ctx, c)
	case testLimit:
		err = runLimits(ctx, c)
	case testFFT:
		err = runFeature(ctx, c)
	default:
		err = request(ctx, c)
	}
	if err == nil {
		return 0
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	fmt.Fprintln(os.Stderr, "dapltest:", err)
	return exitFailure
}

// trace is the verbosity: the number of flags -d.
type trace int

func (t trace) say(level trace, format string, args ...any) {
	if t >= level {
		fmt.Printf(format+"\n", args...)
	}
}
