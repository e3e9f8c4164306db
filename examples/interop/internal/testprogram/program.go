// Package testprogram has what the ports of the native stack's test programs dtest,
// dtestx and dtestsrq have in common.
package testprogram

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// ErrHelp is the error of flags that ask for the usage.
var ErrHelp = errors.New("help is asked for")

// Program is one of the programs, with options of type O.
type Program[O any] struct {
	Name  string
	Help  string // the flag that asks for the usage
	Usage string
	Parse func(args []string) (O, error)
	Run   func(ctx context.Context, o O) error

	// LastLine returns what the program prints at the end, "" for nothing. verdict is
	// PASSED or FAILED.
	LastLine func(o O, verdict string) string
}

const (
	exitFailure = 1
	exitUsage   = 2
)

// Main runs the program with the flags of the process, and ends the process. An
// interrupt ends the context of Run.
func (p *Program[O]) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := p.main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func (p *Program[O]) main(ctx context.Context, args []string) (code int) {
	o, err := p.Parse(args)
	switch {
	case errors.Is(err, ErrHelp):
		fmt.Print(p.Usage)
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v (%[1]s %s lists the flags)\n", p.Name, err, p.Help)
		return exitUsage
	}
	verdict := "PASSED"
	if err := p.Run(ctx, o); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
		verdict, code = "FAILED", exitFailure
	}
	fmt.Print(p.LastLine(o, verdict))
	return code
}
