// Package testprogram has what the ports of the native stack's test programs have in common.
package testprogram

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
)

// Program is one of the programs.
type Program struct {
	Name  string
	Help  string // the flag that asks for the usage
	Usage string
	Parse func(args []string) error
	Run   func(ctx context.Context) // ends with Check, or succeeds

	// LastLine returns what the program prints at the end, "" for nothing. verdict is PASSED or FAILED.
	LastLine func(verdict string) string
}

const (
	exitFailure = 1
	exitUsage   = 2
)

// Main runs the program with the flags of the process, and ends the process. An interrupt ends the context of Run.
func (p Program) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := p.main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func (p Program) main(ctx context.Context, args []string) (code int) {
	switch err := p.Parse(args); {
	case errors.Is(err, getopt.ErrHelp):
		fmt.Print(p.Usage)
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v (%[1]s %s lists the flags)\n", p.Name, err, p.Help)
		return exitUsage
	}
	verdict := "PASSED"
	if err := Attempt(func() { p.Run(ctx) }); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
		verdict, code = "FAILED", exitFailure
	}
	fmt.Print(p.LastLine(verdict))
	return code
}

// failure is the error of a Check.
type failure struct{ error }

// Check ends what Attempt or Main runs if err is not nil, after its deferred calls, as t.Fatal ends a test. It must be called
// on the same goroutine.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Attempt returns the error of the Check that has ended run, nil for none.
func Attempt(run func()) (err error) {
	defer func() {
		switch ended := recover().(type) {
		case nil:
		case failure:
			err = ended.error
		default:
			panic(ended)
		}
	}()
	run()
	return nil
}
