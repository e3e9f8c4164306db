// Dtestsrq does what the native stack's program of the same name does, and talks to it: either side of a pair can be this one
// or the C one. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// options is what the flags say. Both sides of a pair must be given the same connections, messages, bursts and size: nothing
// of that goes over the wire.
type options struct {
	host        string // the server's; none is to be the server
	provider    string
	qualifier   udat.ConnQual
	connections int
	messages    int // of a burst, on each connection
	bursts      int
	size        int // bytes of a message; 0 is the port's MTU
	srq         int // 1 if the connections share their receives
	verbose     bool
}

func (o options) server() bool { return o.host == "" }

// slots is how many messages are under way in one direction.
func (o options) slots() int { return o.connections * o.messages }

const usage = `Usage: dtestsrq [-P PROVIDER] [FLAG...]            the server
       dtestsrq -h HOST [-P PROVIDER] [FLAG...]    the client

Flags can be joined (-vc4), and so can a flag and its value (-b4096).
Give both sides the same of those marked with a star.

  -h HOST      be the client of the server on HOST
  -s           be the server, which is the default
  -P PROVIDER  name of the adapter; without it the first registered one that opens
  -c COUNT *   connections, 1 to 100; default 1
  -B COUNT *   messages of a burst on each connection, 1 to 100; default 1
  -t COUNT *   bursts; default 3
  -b BYTES *   size of a message, 12 at least; default the MTU of the adapter's port
  -p PORT *    connection qualifier; default 45248
  -S 0|1       1: all connections share a receive queue, the default; 0: none does
  -v           say more
  -?           print this

The C program's -u, for unreliable datagrams, and -q and -l, for the UCM provider,
are refused.
`

func (o *options) parse(args []string) error {
	*o = options{qualifier: 45248, connections: 1, messages: 1, bursts: 3, srq: 1}
	errUD := errors.New("unreliable datagrams do not work with any provider over RoCE: CMA makes no endpoints for them, and socket CM cannot connect those that it makes")
	errUCM := errors.New("a queue pair's number and a LID are the address of a server with the UCM provider, which package udat does not serve: give -h")
	return getopt.ParseAll(args, map[byte]getopt.Flag{
		'h': getopt.Text(&o.host), 's': getopt.Do(func() { o.host = "" }), 'P': getopt.Text(&o.provider),
		'c': getopt.Number(&o.connections, 1, 100), 'B': getopt.Number(&o.messages, 1, 100), 't': getopt.Number(&o.bursts, 1, 1<<30),
		'b': getopt.Number(&o.size, headerSize, 1<<24), 'p': getopt.Number(&o.qualifier, 1, 65535), 'S': getopt.Number(&o.srq, 0, 1),
		'v': getopt.On(&o.verbose), '?': getopt.Help,
		'u': getopt.Fails(false, errUD), 'q': getopt.Fails(true, errUCM), 'l': getopt.Fails(true, errUCM),
	})
}

func main() {
	var o options
	testprogram.Program{
		Name: "dtestsrq", Help: "-?", Usage: usage, Parse: o.parse,
		Run: func(ctx context.Context) {
			n := newNode(o)
			defer n.close()
			if o.server() {
				n.serve(ctx)
			} else {
				n.dial(ctx)
			}
		},
		LastLine: func(verdict string) string {
			queue := "SRQ"
			if o.srq == 0 {
				queue = "none SRQ"
			}
			return fmt.Sprintf("\n DAPL RC %s Test Complete. %s\n\n", queue, verdict)
		},
	}.Main()
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// check and must end the program if a call has failed.
func check(err error) { testprogram.Check(err) }

func must[T any](value T, err error) T {
	check(err)
	return value
}
