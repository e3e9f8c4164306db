// Dapltest does the same as the native stack's acceptance test of that name, and talks to it: each side of a pair can
// be this program or the C program. See README.md.
package main

import (
	"context"
	"fmt"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
)

func main() {
	var c command
	testprogram.Program{
		Name: "dapltest", Help: "-h", Usage: usage, Parse: c.parse,
		Run: func(ctx context.Context) {
			switch c.test {
			case testServer:
				serve(ctx, c)
			case testLimit:
				check(runLimits(ctx, c))
			case testFFT:
				check(runFeature(ctx, c))
			default:
				request(ctx, c)
			}
		},
		LastLine: func(string) string { return "" },
	}.Main()
}

// trace is the verbosity: the number of flags -d.
type trace int

func (t trace) say(level trace, format string, args ...any) {
	if t >= level {
		fmt.Printf(format+"\n", args...)
	}
}

// check and must end what testprogram.Attempt runs if a call has failed: the program, a thread, or the part of a server for one
// client.
func check(err error) { testprogram.Check(err) }

func must[T any](value T, err error) T {
	check(err)
	return value
}
