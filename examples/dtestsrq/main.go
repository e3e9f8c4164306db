// Dtestsrq does what the native stack's program of the same name does, and talks
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
		fmt.Fprintf(os.Stderr, "dtestsrq: %v (dtestsrq -? lists the flags)\n", err)
		return exitUsage
	}
	if o.server() {
		err = serve(ctx, o)
	} else {
		err = dial(ctx, o)
	}
	verdict := "PASSED"
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintln(os.Stderr, "dtestsrq:", err)
		verdict = "FAILED"
	}
	queue := "SRQ"
	if !o.srq {
		queue = "none SRQ"
	}
	fmt.Printf("\n DAPL RC %s Test Complete. %s\n\n", queue, verdict)
	if err != nil {
		return exitFailure
	}
	return 0
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
