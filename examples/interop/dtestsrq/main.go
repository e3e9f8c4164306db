// Dtestsrq does what the native stack's program of the same name does, and talks
// to it: either side of a pair can be this one or the C one. See README.md.
package main

import (
	"context"
	"fmt"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
)

func main() {
	program := testprogram.Program[options]{
		Name: "dtestsrq", Help: "-?", Usage: usage, Parse: parseFlags,
		Run: func(ctx context.Context, o options) error {
			if o.server() {
				return serve(ctx, o)
			}
			return dial(ctx, o)
		},
		LastLine: func(o options, verdict string) string {
			queue := "SRQ"
			if !o.srq {
				queue = "none SRQ"
			}
			return fmt.Sprintf("\n DAPL RC %s Test Complete. %s\n\n", queue, verdict)
		},
	}
	program.Main()
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
