// Dtest does what the native stack's program of the same name does, and talks
// to it: either side of a pair can be this one or the C one. See README.md.
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
	o, err := parseFlags(args)
	switch {
	case errors.Is(err, errHelp):
		fmt.Print(usage)
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "dtest: %v (dtest -U lists the flags)\n", err)
		return exitUsage
	}
	if o.server() {
		err = serve(ctx, o)
	} else {
		err = dial(ctx, o)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		fmt.Fprintln(os.Stderr, "dtest:", err)
	}
	fmt.Printf("\n%d: DAPL Test Complete. %s\n\n", os.Getpid(), verdict(err))
	if err != nil {
		return exitFailure
	}
	return 0
}

func verdict(err error) string {
	if err != nil {
		return "FAILED"
	}
	return "PASSED"
}

// say prints a line with the process in front, as the C program does.
func say(format string, args ...any) {
	fmt.Printf("%d %s\n", os.Getpid(), fmt.Sprintf(format, args...))
}
