package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
)

// transaction is a test in which threads run a list of operations again and again, each on its own endpoints.
type transaction struct {
	iterations int
	threads    int
	endpoints  int // of a thread
	reserved   bool
	validate   bool
	poll       bool
	operations []operation
}

var defaultTransaction = transaction{iterations: 1000, threads: 1, endpoints: 1}

func (t *transaction) set(letter byte, value string) (err error) {
	switch letter {
	case 'i':
		t.iterations, err = getopt.Number(letter, value, 1, maxCount)
	case 't':
		t.threads, err = getopt.Number(letter, value, 1, maxThreads)
	case 'w':
		t.endpoints, err = getopt.Number(letter, value, 1, maxEndpoints)
	case 'r':
		t.reserved = true
	case 'V':
		t.validate = true
	case 'P':
		t.poll = true
	}
	return err
}

// syncs are the operations that validation needs at the end of each iteration. The first tells the client that the
// server has sent everything, so that the client can check its memory. The second tells the server the same. The third
// tells the client that the server has checked.
var syncs = []operation{
	{byServer: true, kind: sendReceive, size: defaultOperation.size, segments: 1},
	{byServer: false, kind: sendReceive, size: defaultOperation.size, segments: 1},
	{byServer: true, kind: sendReceive, size: defaultOperation.size, segments: 1},
}

func (t *transaction) finish(operands []string) (err error) {
	if t.operations, err = parseOperations(strings.Fields(strings.Join(operands, " "))); err != nil {
		return err
	}
	if t.validate {
		t.operations = append(t.operations, syncs...)
	}
	return t.check()
}

// check checks transactions from the command line and from clients.
func (t *transaction) check() error {
	if t.iterations < 1 || t.threads < 1 || t.threads > maxThreads || t.endpoints < 1 || t.endpoints > maxEndpoints {
		return fmt.Errorf("%d iterations on %d endpoints in each of %d threads: out of range", t.iterations, t.endpoints, t.threads)
	}
	if len(t.operations) > maxOperations {
		return fmt.Errorf("%d operations are more than %d", len(t.operations), maxOperations)
	}
	if t.validate && len(t.operations) < len(syncs) {
		return errors.New("the operations that validation needs are missing")
	}
	sends := map[bool]int{}
	late := 0
	for _, o := range t.operations {
		if err := o.check(); err != nil {
			return err
		}
		if o.kind == sendReceive {
			sends[o.byServer]++
		}
		if o.late && !o.byServer {
			late++
		} else if o.late {
			late--
		}
		if late < 0 {
			break
		}
	}
	switch {
	case sends[false] == 0 || sends[true] == 0:
		return errors.New("at least one client SR and one server SR are needed")
	case late != 0:
		return errors.New("operations with -f must come in pairs: a client's, then a server's")
	}
	return nil
}

// validated returns the operations whose data is checked.
func (t *transaction) validated() int { return len(t.operations) - len(syncs) }
