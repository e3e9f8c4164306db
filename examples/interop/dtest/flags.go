package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/dtestparams"
	"github.com/goudat/goudat/examples/interop/internal/getopt"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
)

// options is what the flags say. Both sides of a pair must be given the same
// transfers, size and burst: nothing of that goes over the wire.
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
	delay   time.Duration // before the server accepts

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
  -p           poll for events instead of waiting
  -c           wait for completions with a CNO
  -d SECONDS   wait so long before accepting the client
  -t           print the times of all calls
  -v           say more
  -U           print this
`

func parseFlags(args []string) (options, error) {
	o := options{size: defaultSize, burst: defaultBurst, signalRate: 10}
	sized := false
	err := getopt.Parse(args, "bdBhPSi", func(letter byte, value string) error {
		sized = sized || letter == 'b'
		return o.set(letter, value)
	})
	if err != nil {
		return o, err
	}
	if o.allSizes && !o.writePingPong {
		return o, errors.New("-a and -i go with -W only")
	}
	if o.increment > o.size {
		return o, errors.New("-i must not be more than -b: no size would be left")
	}
	o.signalRate = min(o.signalRate, o.burst)
	if o.writePingPong && !o.allSizes && !o.checkData && !sized {
		o.size = 1
	}
	return o, nil
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
		if o.provider = value; !dtestparams.ValidProvider(value) {
			err = fmt.Errorf("-P: %q is no name of an adapter", value)
		}
	case 'u':
		o.unidirectional = true
	case 'w':
		o.writeOnly = true
	case 'W', 'D':
		o.checkData = o.checkData || letter == 'D'
		o.writePingPong, o.unidirectional = true, true
		o.signalRate, o.burst = 1, defaultBurst
	case 'a':
		o.allSizes = true
	case 'i':
		o.allSizes = true
		o.increment, err = getopt.Number(letter, value, 1, maxSize)
	case 'b':
		o.size, err = getopt.Number(letter, value, 1, maxSize)
	case 'B':
		o.burst, err = getopt.Number(letter, value, 1, maxBurst)
	case 'S':
		o.signalRate, err = getopt.Number(letter, value, 1, maxBurst)
	case 'd':
		var seconds int
		seconds, err = getopt.Number(letter, value, 0, 1<<20)
		o.delay = time.Duration(seconds) * time.Second
	case 'p':
		o.polling = true
	case 'c':
		o.useCNO = true
	case 't':
		o.times = true
	case 'v':
		o.verbose = true
	case 'U':
		err = testprogram.ErrHelp
	default:
		err = fmt.Errorf("there is no flag -%c", letter)
	}
	return err
}

// pingPongSizes lists the sizes that -W goes through, in order.
func (o options) pingPongSizes() []int {
	if !o.allSizes {
		return []int{o.size}
	}
	var sizes []int
	around := func(size int) {
		if size > 4 {
			sizes = append(sizes, size-1)
		}
		sizes = append(sizes, size)
		if size > 1 && size < o.size {
			sizes = append(sizes, size+1)
		}
	}
	if o.increment > 0 {
		for size := o.increment; size <= o.size; size += o.increment {
			around(size)
		}
		return sizes
	}
	// The last one is the first power of two that is not below the size.
	for size := 1; ; size *= 2 {
		around(size)
		if size >= o.size {
			return sizes
		}
	}
}
