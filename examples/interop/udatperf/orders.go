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
// the twin in C, in the same order. Once connected, it reads one measurement per line. It reports when the server is
// ready, and the result.
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
	server := len(args) == 3 && args[0] == "server"
	if client := len(args) == 4 && args[0] == "client"; !server && !client {
		return nil, errors.New("server ADAPTER QUALIFIER or client ADAPTER ADDRESS QUALIFIER")
	}
	number, err := strconv.ParseUint(args[len(args)-1], 10, 16)
	if err != nil {
		return nil, err
	}
	n, err := openNode(args[1], udat.ConnQual(number))
	if err != nil {
		return nil, err
	}
	if server {
		err = n.listen(out)
	} else {
		n.address, err = netip.ParseAddr(args[2])
	}
	if err != nil {
		return nil, err
	}
	return n, n.meet()
}

// order is a measurement to make.
type order struct {
	name, how            string
	bytes, count, window int
	beside               string // what happens meanwhile, of round trips at a fixed rate: "nothing" or "churn"
}

func (n *node) obey(orders io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(orders)
	for lines.Scan() && lines.Text() != "end" {
		var o order
		if _, err := fmt.Sscan(lines.Text(), &o.name, &o.how, &o.bytes, &o.count, &o.window, &o.beside); err != nil {
			return fmt.Errorf("this is not a measurement: %s", lines.Text())
		}
		if o.count < 1 || o.bytes < 0 || o.bytes == 0 && o.name == "mailbox" || o.bytes > mostBytes || o.window < 1 || o.window > mostRequests {
			return fmt.Errorf("such a measurement cannot be made: %+v", o)
		}
		if err := n.prepare(o); err != nil {
			return err
		}
		if n.server {
			fmt.Fprintln(out, "ready")
		}
		metrics, err := n.measure(o)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		fmt.Fprintln(out, "result", metrics)
	}
	return lines.Err()
}

// measure returns what the order takes, as Go's benchmarks print it. The processor time is that of this side.
func (n *node) measure(o order) (string, error) {
	spin := 50 * time.Microsecond
	if o.how == "sleep" { // it waits without spinning first
		spin = 0
	}
	if err := n.receivesDone.SetWaitSpin(spin); err != nil {
		return "", err
	}
	n.tail = tail{}
	used := processorTime()
	ns, err := n.time(o)
	if err != nil {
		return "", err
	}
	used = processorTime() - used
	metrics := fmt.Sprintf("%.2f ns/op", ns)
	if n.tail.p99 > 0 {
		metrics += fmt.Sprintf("\t%.0f p90-ns/op\t%.0f p99-ns/op", n.tail.p90, n.tail.p99)
	}
	if !n.server && (o.name == "rate" || o.name == "write" || o.name == "read") {
		metrics += fmt.Sprintf("\t%.2f MB/s", float64(o.bytes)/ns*1e3)
	}
	if o.how != "poll" && o.name != "paced" && used > 0 { // the kernel counts in clock ticks
		metrics += fmt.Sprintf("\t%.0f cpu-ns/op", float64(used)/float64(o.count))
	}
	return metrics, nil
}

// processorTime returns what this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// time returns how long one of the operations takes, in nanoseconds.
func (n *node) time(o order) (float64, error) {
	switch {
	case o.name == "roundtrip", o.name == "mailbox":
		times, err := n.roundTrips(o)
		return n.summarize(times), err
	case o.name == "paced":
		return n.paced(o)
	case o.name == "connect":
		return n.connects(o.count)
	case o.name == "rate" && n.server:
		return 0, n.sink(o)
	case n.server: // which takes no part in the others
		return 0, nil
	case o.name == "rate", o.name == "write", o.name == "read":
		return n.stream(o)
	case o.name == "status":
		return n.statuses(o.count)
	}
	return 0, fmt.Errorf("unknown measurement %q", o.name)
}
