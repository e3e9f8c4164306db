package main

import (
	"errors"
	"fmt"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// options is what the flags say. Both sides of a pair must be given the same
// connections, messages, bursts and size: nothing of that goes over the wire.
type options struct {
	host        string // the server's; none is to be the server
	provider    string
	qualifier   udat.ConnQual
	connections int
	messages    int // of a burst, on each connection
	bursts      int
	size        int  // bytes of a message; 0 is the port's MTU
	srq         bool // whether the connections share their receives
	verbose     bool
}

const (
	defaultQualifier = 45248
	maxConnections   = 100
	maxMessages      = 100
	maxBursts        = 1 << 30
	maxSize          = 1 << 24
)

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

var (
	errUD  = errors.New("unreliable datagrams do not work with any provider over RoCE: CMA makes no endpoints for them, and socket CM cannot connect those that it makes")
	errUCM = errors.New("a queue pair's number and a LID are the address of a server with the UCM provider, which package udat does not serve: give -h")
)

func parseFlags(args []string) (options, error) {
	o := options{qualifier: defaultQualifier, connections: 1, messages: 1, bursts: 3, srq: true}
	return o, getopt.Parse(args, "BcthPpqlbS", o.set)
}

func (o *options) set(letter byte, value string) (err error) {
	switch letter {
	case 'h':
		if o.host = value; value == "" {
			err = errors.New("-h needs the name of a host")
		}
	case 's':
		o.host = ""
	case 'P':
		if o.provider = value; value == "" {
			err = errors.New("-P needs the name of an adapter")
		}
	case 'c':
		o.connections, err = getopt.Number(letter, value, 1, maxConnections)
	case 'B':
		o.messages, err = getopt.Number(letter, value, 1, maxMessages)
	case 't':
		o.bursts, err = getopt.Number(letter, value, 1, maxBursts)
	case 'b':
		o.size, err = getopt.Number(letter, value, headerSize, maxSize)
	case 'p':
		var port int
		port, err = getopt.Number(letter, value, 1, 65535)
		o.qualifier = udat.ConnQual(port)
	case 'S':
		var shared int
		shared, err = getopt.Number(letter, value, 0, 1)
		o.srq = shared == 1
	case 'v':
		o.verbose = true
	case 'u':
		err = fmt.Errorf("-u: %w", errUD)
	case 'q', 'l':
		err = fmt.Errorf("-%c: %w", letter, errUCM)
	case '?':
		err = testprogram.ErrHelp
	default:
		err = fmt.Errorf("there is no flag -%c", letter)
	}
	return err
}
