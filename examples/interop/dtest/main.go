// Dtest does what the native stack's program of the same name does, and talks to it: either side of a pair can be this one
// or the C one. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
)

// options is what the flags say. Both sides of a pair must be given the same transfers, size and burst: nothing of that goes
// over the wire.
type options struct {
	host     string // the server's; none is to be the server
	provider string

	unidirectional bool // only the client writes
	writeOnly      bool // the last write carries immediate data, and no reads follow
	writePingPong  bool // each side writes as soon as the other's write is there
	checkData      bool
	allSizes       bool
	increment      int // bytes from one size to the next; 0 doubles it

	polling bool
	useCNO  bool
	times   bool
	verbose bool
	delay   int // seconds before the server accepts

	size       int // bytes of a transfer
	burst      int // RDMA writes
	signalRate int // one of this many writes is reported
}

const (
	defaultSize  = 4 << 20
	defaultBurst = 1000
	maxSize      = 1 << 28
	maxBurst     = 1 << 20
)

func (o options) server() bool { return o.host == "" }

const usage = `Usage: dtest [-P PROVIDER] [FLAG...]            the server
       dtest -h HOST [-P PROVIDER] [FLAG...]    the client

Flags can be joined (-tp), and so can a flag and its value (-b4096).
Give both sides the same of those marked with a star.

  -h HOST      be the client of the server on HOST
  -s           be the server, which is the default
  -P PROVIDER  name of the adapter; without it a server takes the first
               registered one that opens, and a client the server's
  -u *         only the client writes
  -w *         only RDMA writes, the last one with immediate data
  -W *         RDMA writes in turn, each side polls its memory for the other's
  -D *         -W, and check all data
  -a *         with -W: all powers of two up to the size, and one byte more and less
  -i BYTES *   with -W: all multiples of BYTES, and one byte more and less
  -b BYTES *   size of a transfer; default 4194304, with -W 1
  -B COUNT *   RDMA writes; default 1000
  -S COUNT     have one of COUNT writes reported; default 10, with -W 1
  -p           poll for completions instead of waiting
  -c           wait for completions with a CNO
  -d SECONDS   wait so long before accepting the client
  -t           print the times of all calls
  -v           say more
  -U           print this
`

func (o *options) parse(args []string) error {
	o.burst, o.signalRate = defaultBurst, 10
	inTurn := func() {
		o.writePingPong, o.unidirectional = true, true
		o.signalRate, o.burst = 1, defaultBurst
	}
	err := getopt.ParseAll(args, map[byte]getopt.Flag{
		'h': getopt.Text(&o.host), 's': getopt.Do(func() { o.host = "" }), 'P': getopt.Text(&o.provider),
		'u': getopt.On(&o.unidirectional), 'w': getopt.On(&o.writeOnly), 'W': getopt.Do(inTurn),
		'D': getopt.Do(func() { o.checkData = true; inTurn() }), 'a': getopt.On(&o.allSizes),
		'i': getopt.Number(&o.increment, 1, maxSize), 'b': getopt.Number(&o.size, 1, maxSize),
		'B': getopt.Number(&o.burst, 1, maxBurst), 'S': getopt.Number(&o.signalRate, 1, maxBurst), 'd': getopt.Number(&o.delay, 0, 1<<20),
		'p': getopt.On(&o.polling), 'c': getopt.On(&o.useCNO), 't': getopt.On(&o.times), 'v': getopt.On(&o.verbose), 'U': getopt.Help,
	})
	o.allSizes = o.allSizes || o.increment > 0
	o.signalRate = min(o.signalRate, o.burst)
	if o.size == 0 {
		o.size = defaultSize
		if o.writePingPong && !o.allSizes && !o.checkData {
			o.size = 1
		}
	}
	switch {
	case err != nil:
		return err
	case o.allSizes && !o.writePingPong:
		return errors.New("-a and -i go with -W only")
	case o.increment > o.size:
		return errors.New("-i must not be more than -b: no size would be left")
	}
	return nil
}

func main() {
	var o options
	testprogram.Program{
		Name: "dtest", Help: "-U", Usage: usage, Parse: o.parse,
		Run: func(ctx context.Context) {
			var n *node
			if o.server() {
				n = serve(ctx, o)
			} else {
				n = dial(ctx, o)
			}
			n.free()
			n.times.print(o)
		},
		LastLine: func(verdict string) string {
			return fmt.Sprintf("\n%d: DAPL Test Complete. %s\n\n", os.Getpid(), verdict)
		},
	}.Main()
}

// say prints a line with the process in front, as the C program does.
func say(format string, args ...any) {
	fmt.Printf("%d %s\n", os.Getpid(), fmt.Sprintf(format, args...))
}

// check and must end the program if a call has failed.
func check(err error) { testprogram.Check(err) }

func must[T any](value T, err error) T {
	check(err)
	return value
}
