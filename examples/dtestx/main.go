// Dtestx does what the native stack's program of the same name does, and talks
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
		fmt.Fprintf(os.Stderr, "dtestx: %v (dtestx -? lists the flags)\n", err)
		return exitUsage
	}
	if o.queryOnly {
		if err := query(o.provider); err != nil {
			fmt.Fprintln(os.Stderr, "dtestx:", err)
			return exitFailure
		}
		return 0
	}
	if o.server() {
		err = serve(ctx, o)
	} else {
		err = dial(ctx, o)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintln(os.Stderr, "dtestx:", err)
	}
	fmt.Printf("\n IB extension test - immed/atomic test %s\n\n", verdict(err))
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

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
