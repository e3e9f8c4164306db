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
		Run: func(ctx context.Context) error {
			switch c.test {
			case testServer:
				return serve(ctx, c)
			case testLimit:
				return runLimits(ctx, c)
			case testFFT:
				return runFeature(ctx, c)
			}
			return request(ctx, c)
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

// check and must end a case of a feature or a limit test, as C's macros do.
func check(err error) { testprogram.Check(err) }

func must[T any](value T, err error) T {
	check(err)
	return value
}
