package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
	"github.com/goudat/goudat/udat"
)

// test is a kind of test. The numbers are part of the protocol.
type test uint32

const (
	testServer test = iota
	testTransaction
	testPerformance
	testLimit
	testQuit
	testFFT
)

// command is a parsed command line.
type command struct {
	test    test
	adapter string
	host    string // the server's
	port    udat.ConnQual
	trace   trace

	transaction transaction
	performance performance
	limit       limit
	fft         fft
}

const (
	maxCount     = 1<<31 - 1
	maxThreads   = 1000
	maxEndpoints = 1000
)

// parse parses a command line. Without arguments, it is a server's. -T comes first.
func (c *command) parse(args []string) error {
	*c = command{
		port:        62000,
		transaction: transaction{iterations: 1000, threads: 1, endpoints: 1},
		performance: performance{iterations: 1000, pipeline: maxCount, operation: defaultOperation},
		limit:       limit{most: 1000, width: 1},
	}
	if len(args) == 0 {
		return nil
	}
	if args[0] == "-h" {
		return getopt.ErrHelp
	}
	if args[0] == "-T" && len(args) > 1 {
		args = append([]string{args[0] + args[1]}, args[2:]...)
	}
	kind, found := strings.CutPrefix(args[0], "-T")
	if !found || kind == "" {
		return errors.New("the first flag must be -T, with a test")
	}
	i := strings.IndexByte("STPLQF", kind[0])
	if i < 0 {
		return fmt.Errorf("-T: there is no test %q", kind)
	}
	c.test = test(i)
	operands, err := getopt.Parse(args[1:], c.flags())
	if err != nil {
		return err
	}
	return c.finish(operands)
}

// flags are those of the test.
func (c *command) flags() map[byte]getopt.Flag {
	flags := map[byte]getopt.Flag{
		'D': getopt.Text(&c.adapter), 'd': getopt.Do(func() { c.trace++ }), 'n': getopt.Number(&c.port, 1, 65535),
		'R': getopt.Value(func(value string) error {
			if value != "BE" {
				return fmt.Errorf("no provider has the quality of service %q, only BE, best effort", value)
			}
			return nil
		}),
	}
	if c.needsServer() {
		flags['s'] = getopt.Text(&c.host)
	}
	switch c.test {
	case testTransaction:
		t := &c.transaction
		flags['i'], flags['t'] = getopt.Number(&t.iterations, 1, maxCount), getopt.Number(&t.threads, 1, maxThreads)
		flags['w'], flags['r'] = getopt.Number(&t.endpoints, 1, maxEndpoints), getopt.On(&t.reserved)
		flags['V'], flags['P'] = getopt.On(&t.validate), getopt.On(&t.poll)
	case testPerformance:
		p := &c.performance
		flags['i'], flags['p'] = getopt.Number(&p.iterations, 1, maxCount), getopt.Number(&p.pipeline, 1, maxCount)
		flags['m'] = getopt.Value(func(value string) error {
			if p.poll = value == "p"; !p.poll && value != "b" {
				return fmt.Errorf("%q is neither b, to wait, nor p, to poll", value)
			}
			return nil
		})
	case testLimit:
		flags['m'], flags['w'] = getopt.Number(&c.limit.most, 1, maxCount), getopt.Number(&c.limit.width, 1, maxCount)
	case testFFT:
		flags['f'] = getopt.Text(&c.fft.feature)
	}
	return flags
}

func (c *command) needsServer() bool {
	return slices.Contains([]test{testTransaction, testPerformance, testQuit}, c.test)
}

// finish parses the arguments after the flags.
func (c *command) finish(operands []string) (err error) {
	switch c.test {
	case testTransaction:
		err = c.transaction.finish(operands)
	case testPerformance:
		err = c.performance.finish(operands)
	case testLimit:
		err = c.limit.finish(operands)
	case testFFT:
		err = c.fft.finish(operands)
	default:
		if len(operands) > 0 {
			err = fmt.Errorf("unexpected argument %q", operands[0])
		}
	}
	if err == nil && c.needsServer() && c.host == "" {
		err = errors.New("-s is missing: the host of the server")
	}
	return err
}

const usage = `Usage: dapltest                          a server, with all defaults
       dapltest -T S [FLAG...]           a server
       dapltest -T T -s HOST [FLAG...] OPERATION...   transactions with a server
       dapltest -T P -s HOST [FLAG...] KIND [SIZE [SEGMENTS]]   a measurement
       dapltest -T Q -s HOST [FLAG...]   have a server quit when its tests are over
       dapltest -T L [FLAG...] [LIMIT...]   limits of an adapter
       dapltest -T F -f FEATURE [FLAG...] [caseN...]   single functions

-T comes first. Flags can be joined, and so can a flag and its value (-i100).

For all tests
  -D NAME      the adapter; without it the first registered one that opens
  -n PORT      the server's connection qualifier; default 62000
  -s HOST      the server's host
  -R BE        best effort, the only quality of service that providers have
  -d           say what is done; twice or three times, say more

Transactions: each thread goes through the operations again and again, on all of
its endpoints at a time. An operation is
    client|server SR|RW|RR [SIZE [SEGMENTS]] [-f]
that is who begins it, a message, an RDMA write or an RDMA read, and how large; by
default one segment of 4096 bytes. At least one message of each side is needed.
-f is for messages, in pairs: the client's is known to be sent when the server's
has come.
  -i COUNT     iterations; default 1000
  -t COUNT     threads; default 1
  -w COUNT     endpoints of a thread; default 1
  -r           the server listens on reserved service points
  -V           check all data; this adds three messages to each iteration
  -P           poll for completions instead of waiting

Measurement: KIND is RW or RR.
  -i COUNT     operations; default 1000
  -p COUNT     of which so many are outstanding at a time; default: as many as can be
  -m b|p       wait for completions, the default, or poll

Limits: limit_ia, limit_pz, limit_cno, limit_evd, limit_ep, limit_rsp, limit_psp,
limit_lmr, limit_rpost; all of them by default.
  -m COUNT     make no more objects of a kind; default 1000
  -w COUNT     sets of what they need; default 1

Features: hwconn, endpoint, pz, mem, connmgt, queryinfo; all cases by default.
`
