package main

import (
	"errors"
	"fmt"

	"github.com/goudat/goudat/examples/interop/internal/dtestparams"
	"github.com/goudat/goudat/examples/interop/internal/getopt"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
)

// options is what the flags say. Both sides of a pair must be given the same
// size: it does not go over the wire.
type options struct {
	host      string // the server's; none is to be the server
	provider  string
	size      int // bytes of the RDMA write
	queryOnly bool
	verbose   bool
}

const (
	defaultSize = 256
	minSize     = 20 // the C program writes this much text without a check
	maxSize     = 1 << 28
)

func (o options) server() bool { return o.host == "" }

const usage = `Usage: dtestx [-P PROVIDER] [FLAG...]            the server
       dtestx -h HOST [-P PROVIDER] [FLAG...]    the client
       dtestx -q [-P PROVIDER]                   says what the adapter can do

Flags can be joined (-pv), and so can a flag and its value (-b4096).

  -h HOST      be the client of the server on HOST
  -s, -c       be the server, or the client; -h, or its absence, says it already
  -P PROVIDER  name of the adapter; without it a server takes the first
               registered one that opens, and a client the server's
  -b BYTES     size of the RDMA write, the same on both sides; default 256
  -v           say more
  -?           print this

The C program's -p, for counters, and -u, -U and -m, for unreliable datagrams,
are refused.
`

var (
	errUD = errors.New("unreliable datagrams do not work with any provider over RoCE: CMA makes no endpoints for them, and socket CM cannot connect those that it makes")
)

func parseFlags(args []string) (options, error) {
	o := options{size: defaultSize}
	client, server := false, false
	err := getopt.Parse(args, "UhbP", func(letter byte, value string) error {
		client = client || letter == 'c'
		server = server || letter == 's'
		return o.set(letter, value)
	})
	switch {
	case err != nil:
		return o, err
	case client && o.host == "":
		return o, errors.New("-c needs -h and the server's host")
	case server && o.host != "":
		return o, errors.New("-s is for the server, and -h for the client")
	}
	return o, nil
}

func (o *options) set(letter byte, value string) (err error) {
	switch letter {
	case 'h':
		if o.host = value; value == "" {
			err = errors.New("-h needs the name of a host")
		}
	case 's', 'c':
	case 'P':
		if o.provider = value; !dtestparams.ValidProvider(value) {
			err = fmt.Errorf("-P: %q is no name of an adapter", value)
		}
	case 'b':
		o.size, err = getopt.Number(letter, value, minSize, maxSize)
	case 'p':
		err = errors.New("-p: the providers are built without counters")
	case 'q':
		o.queryOnly = true
	case 'v':
		o.verbose = true
	case 'u', 'U', 'm':
		err = fmt.Errorf("-%c: %w", letter, errUD)
	case '?':
		err = testprogram.ErrHelp
	default:
		err = fmt.Errorf("there is no flag -%c", letter)
	}
	return err
}
