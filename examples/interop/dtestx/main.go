// Dtestx does what the native stack's program of the same name does, and talks to it: either side of a pair can be this one
// or the C one. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/interop/internal/getopt"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// options is what the flags say. Both sides of a pair must be given the same size: it does not go over the wire.
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

func (o *options) parse(args []string) error {
	errUD := errors.New("unreliable datagrams do not work with any provider over RoCE: CMA makes no endpoints for them, and socket CM cannot connect those that it makes")
	client, server := false, false
	o.size = defaultSize
	err := getopt.ParseAll(args, map[byte]getopt.Flag{
		'h': getopt.Text(&o.host), 's': getopt.On(&server), 'c': getopt.On(&client), 'P': getopt.Text(&o.provider),
		'b': getopt.Number(&o.size, minSize, maxSize), 'q': getopt.On(&o.queryOnly), 'v': getopt.On(&o.verbose), '?': getopt.Help,
		'p': getopt.Fails(false, errors.New("the providers are built without counters")),
		'u': getopt.Fails(false, errUD), 'U': getopt.Fails(true, errUD), 'm': getopt.Fails(false, errUD),
	})
	switch {
	case err != nil:
		return err
	case client && o.server():
		return errors.New("-c needs -h and the server's host")
	case server && !o.server():
		return errors.New("-s is for the server, and -h for the client")
	}
	return nil
}

func main() {
	var o options
	testprogram.Program{
		Name: "dtestx", Help: "-?", Usage: usage, Parse: o.parse,
		Run: func(ctx context.Context) {
			switch {
			case o.queryOnly:
				query(o.provider)
			case o.server():
				serve(ctx, o)
			default:
				dial(ctx, o)
			}
		},
		LastLine: func(verdict string) string {
			if o.queryOnly {
				return ""
			}
			return fmt.Sprintf("\n IB extension test - immed/atomic test %s\n\n", verdict)
		},
	}.Main()
}

// query prints an adapter's attributes and capabilities.
func query(provider string) {
	ia := must(adapter.Open(provider))
	defer ia.Close(udat.CloseAbrupt)
	attr, providerAttr, err := ia.Query()
	check(err)
	say("%s: %s at %v", ia.Name(), attr.AdapterName, attr.Address)
	printAttributes(providerAttr)
}

func printAttributes(provider udat.ProviderAttr) {
	for _, name := range slices.Sorted(maps.Keys(provider.ProviderSpecificAttr)) {
		say("  %s=%s", name, provider.ProviderSpecificAttr[name])
	}
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// check and must end the program if a call has failed.
func check(err error) { testprogram.Check(err) }

func must[T any](value T, err error) T {
	check(err)
	return value
}
