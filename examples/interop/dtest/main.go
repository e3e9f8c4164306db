// Dtest does what the native stack's program of the same name does, and talks
// to it: either side of a pair can be this one or the C one. See README.md.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
)

func main() {
	program := testprogram.Program[options]{
		Name: "dtest", Help: "-U", Usage: usage, Parse: parseFlags,
		Run: func(ctx context.Context, o options) error {
			if o.server() {
				return serve(ctx, o)
			}
			return dial(ctx, o)
		},
		LastLine: func(_ options, verdict string) string {
			return fmt.Sprintf("\n%d: DAPL Test Complete. %s\n\n", os.Getpid(), verdict)
		},
	}
	program.Main()
}

// say prints a line with the process in front, as the C program does.
func say(format string, args ...any) {
	fmt.Printf("%d %s\n", os.Getpid(), fmt.Sprintf(format, args...))
}
