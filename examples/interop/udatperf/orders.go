package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

// obeyOrders is one side of the measurements: "server ADAPTER QUALIFIER" or "client ADAPTER ADDRESS QUALIFIER". It does the same as
// the twin in C, in the same order. "far ADAPTER QUALIFIER" accepts every connection, on a machine that is cut off later.
//
// Once connected, it reads one measurement per line. It reports when the server is ready, and the result.
func obeyOrders(args []string, orders io.Reader, out io.Writer) error {
	n, err := meet(args, out)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "connected")
	if err := n.obey(orders, out); err != nil {
		return err
	}
	return n.close()
}

// meet makes a node that is connected to its peer.
func meet(args []string, out io.Writer) (*node, error) {
	server := len(args) == 3 && (args[0] == "server" || args[0] == "far")
	if client := len(args) == 4 && args[0] == "client"; !server && !client {
		return nil, errors.New("server ADAPTER QUALIFIER, client ADAPTER ADDRESS QUALIFIER or far ADAPTER QUALIFIER")
	}
	number, err := strconv.ParseUint(args[len(args)-1], 10, 16)
	if err != nil {
		return nil, err
	}
	n, err := openNode(args[1], udat.ConnQual(number))
	if err != nil {
		return nil, err
	}
	if args[0] == "far" {
		return n, n.acceptAll(out)
	}
	if server {
		return n, n.serve(out)
	}
	if n.address, err = netip.ParseAddr(args[2]); err != nil {
		return nil, err
	}
	return n, n.dial()
}

// order is a measurement to make.
type order struct {
	name, how            string
	bytes, count, window int

	// Of round trips at a fixed rate.
	beside string // what happens meanwhile: "nothing", "churn", churn on its "own" event dispatchers, or "cut"
	idle   int    // more connections on the same event dispatchers
	pause  int    // between one of the others and the next, in milliseconds
}

// messages is how many the server answers. The first half of them have nothing beside.
func (o order) messages() int {
	if o.name == "paced" && o.beside != "nothing" {
		return 2 * o.count
	}
	return o.count
}

func (n *node) obey(orders io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(orders)
	for lines.Scan() && lines.Text() != "end" {
		var o order
		if _, err := fmt.Sscan(lines.Text(), &o.name, &o.how, &o.bytes, &o.count, &o.window, &o.beside, &o.idle, &o.pause); err != nil {
			return fmt.Errorf("this is not a measurement: %s", lines.Text())
		}
		if o.count < 1 || o.bytes < 0 || o.bytes == 0 && o.name == "mailbox" || o.bytes > mostBytes || o.window < 1 || o.window > mostRequests {
			return fmt.Errorf("such a measurement cannot be made: %+v", o)
		}
		if n.server {
			if err := n.expect(o); err != nil {
				return err
			}
			fmt.Fprintln(out, "ready")
		}
		user, system := processorTime()
		result, err := n.measure(o)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		userAfter, systemAfter := processorTime()
		fmt.Fprintf(out, "result value=%v p90=%v p99=%v p999=%v over=%v user=%v system=%v\n", result, n.tail.p90, n.tail.p99,
			n.tail.p999, n.tail.over, (userAfter-user)/float64(o.count), (systemAfter-system)/float64(o.count))
	}
	return lines.Err()
}

// processorTime returns what this process has used, in nanoseconds.
func processorTime() (user, system float64) {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()), float64(usage.Stime.Nano())
}

// expect prepares the server before the client begins.
func (n *node) expect(o order) error {
	switch o.name {
	case "roundtrip", "sustained", "rate", "paced":
		return n.expectMessages(o.bytes, o.messages())
	case "mailbox":
		return n.expectWrites(o.bytes)
	}
	return nil
}

func (n *node) measure(o order) (float64, error) {
	spin := 50 * time.Microsecond
	if o.how == "sleep" { // it waits without spinning first
		spin = 0
	}
	if err := n.receivesDone.SetWaitSpin(spin); err != nil {
		return 0, err
	}
	switch {
	case o.name == "roundtrip":
		times, err := n.roundTrips(o.bytes, o.count, o.how)
		return n.summarize(times), err
	case o.name == "mailbox":
		return n.measureMemoryRoundTrip(o.bytes, o.count)
	case o.name == "sustained":
		times, err := n.roundTrips(o.bytes, o.count, "poll")
		return mean(times), err
	case o.name == "rate":
		return n.measureRate(o.bytes, o.count, o.window, o.how == "poll")
	case o.name == "paced":
		return n.measurePaced(o)
	case o.name == "connect":
		return n.measureConnects(o.count)
	case n.server: // which takes no part in the others
		return 0, nil
	case o.name == "write", o.name == "read":
		return n.measureRDMA(o.name == "write", o.bytes, o.count, o.window)
	case o.name == "far":
		return 0, n.joinFar(o.how)
	case o.name == "status":
		return n.measureStatus(o.count)
	}
	return 0, fmt.Errorf("unknown measurement %q", o.name)
}
