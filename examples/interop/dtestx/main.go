// Dtestx does what the native stack's program of the same name does, and talks
// to it: either side of a pair can be this one or the C one. See README.md.
package main

import (
	"context"
	"fmt"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
)

func main() {
	program := testprogram.Program[options]{
		Name: "dtestx", Help: "-?", Usage: usage, Parse: parseFlags,
		Run: func(ctx context.Context, o options) error {
			switch {
			case o.queryOnly:
				return query(o.provider)
			case o.server():
				return serve(ctx, o)
			}
			return dial(ctx, o)
		},
		LastLine: func(o options, verdict string) string {
			if o.queryOnly {
				return ""
			}
			return fmt.Sprintf("\n IB extension test - immed/atomic test %s\n\n", verdict)
		},
	}
	program.Main()
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
