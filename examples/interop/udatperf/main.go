// Udatperf measures messages, RDMA writes and reads, and connections, between two processes. It is also the Go twin of
// scripts/sidebyside/ctwin: scripts/bench has both do the same work, and compares them. See README.md.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/internal/messagesizes"
	"github.com/goudat/goudat/udat"
)

func main() {
	var err error
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		err = obeyOrders(os.Args[1:], os.Stdin, os.Stdout)
	} else {
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "udatperf:", err)
		os.Exit(1)
	}
}

// settings are what the flags set.
type settings struct {
	operations []string
	how        string
	sizes      []int // bytes
	count      int
	window     int
	qual       udat.ConnQual
	serverBy   []string // the command of the server
}

var operations = []string{"send", "write", "read", "connect"}

func run() error {
	var s settings
	names := flag.String("provider", os.Getenv("UDAT_TEST_IA"), "`names` of the adapters, separated by commas; default: $UDAT_TEST_IA, else all of the registry that open")
	list := flag.String("op", strings.Join(operations, ","), "`operations` to measure, separated by commas")
	sizes := flag.String("sizes", "8,64,512,4096,32768", fmt.Sprintf("message sizes in `bytes`, separated by commas, each 1 to %d", mostBytes))
	flag.StringVar(&s.how, "how", "poll", "poll, wait or sleep for completions of messages")
	flag.IntVar(&s.count, "count", 1000, "operations to measure for each size")
	flag.IntVar(&s.window, "window", 16, "outstanding operations when bandwidth is measured")
	qual := flag.Uint("qual", 7472, "connection qualifier of the server")
	timeout := flag.Duration("timeout", 10*time.Minute, "time limit")
	serverBy := flag.String("server-by", os.Args[0], "`command` that runs this program, or the twin in C, as the server, such as \"ssh server.example udatperf\"")
	flag.Parse()
	s.operations, s.qual, s.serverBy = strings.Split(*list, ","), udat.ConnQual(*qual), strings.Fields(*serverBy)
	var err error
	s.sizes, err = messagesizes.Parse(*sizes, 1, mostBytes, 64)
	switch {
	case err != nil:
		err = fmt.Errorf("-sizes: %w", err)
	case !slices.Contains([]string{"poll", "wait", "sleep"}, s.how):
		err = errors.New("-how must be poll, wait or sleep")
	case s.count < 1 || s.window < 1 || s.window > mostRequests || *timeout <= 0:
		err = fmt.Errorf("-count and -timeout must be more than 0, and -window 1 to %d", mostRequests)
	case slices.ContainsFunc(s.operations, func(o string) bool { return !slices.Contains(operations, o) }):
		err = fmt.Errorf("-op must be of %s", strings.Join(operations, ", "))
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "udatperf:", err)
		os.Exit(2)
	}
	time.AfterFunc(*timeout, func() {
		fmt.Fprintln(os.Stderr, "udatperf: it took longer than -timeout")
		os.Exit(1)
	})
	adapters, err := adapter.Names(*names)
	for i := 0; err == nil && i < len(adapters); i++ {
		err = s.measure(adapters[i], os.Stdout)
	}
	return err
}

// measure is the client on an adapter. The server is another process, which takes the same orders, and ends with this one.
func (s settings) measure(name string, out io.Writer) error {
	server := exec.Command(s.serverBy[0], append(s.serverBy[1:len(s.serverBy):len(s.serverBy)], "server", name, strconv.Itoa(int(s.qual)))...)
	server.Stderr = os.Stderr
	orders, err := server.StdinPipe()
	if err != nil {
		return err
	}
	output, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(output)
	expect := func(word string) (string, error) {
		lines.Scan()
		rest, found := strings.CutPrefix(lines.Text(), word)
		if !found {
			return "", fmt.Errorf("the server said %q instead of %q", lines.Text(), word)
		}
		return strings.TrimSpace(rest), nil
	}
	err = s.client(name, expect, orders, out)
	if err != nil {
		_ = server.Process.Kill()
	}
	orders.Close()
	if ended := server.Wait(); err == nil && ended != nil {
		err = fmt.Errorf("the server: %w", ended)
	}
	return err
}

func (s settings) client(name string, expect func(string) (string, error), orders, out io.Writer) error {
	address, err := expect("listening")
	if err != nil {
		return err
	}
	n, err := meet([]string{"client", name, address, strconv.Itoa(int(s.qual))}, nil)
	if err != nil {
		return err
	}
	if _, err := expect("connected"); err != nil {
		return err
	}
	attr, _, err := n.ia.Query()
	if err != nil {
		return err
	}
	iwarp, err := adapter.IWARP(attr.AdapterName)
	if err != nil {
		return err
	}
	for _, b := range s.benchmarks(iwarp) {
		fmt.Fprintln(orders, b.order.line())
		if _, err := expect("ready"); err != nil {
			return err
		}
		if err := n.prepare(b.order); err != nil {
			return err
		}
		metrics, err := n.measure(b.order)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		if _, err := expect("result"); err != nil {
			return err
		}
		fmt.Fprintf(out, "Benchmark%s/ia=%s/bytes=%d \t%d\t%s\n", b.name, name, b.order.bytes, b.order.count, metrics)
	}
	return n.close()
}

// benchmark is an order with the name of its result.
type benchmark struct {
	name string
	order
}

func (s settings) benchmarks(iwarp bool) (list []benchmark) {
	for _, operation := range s.operations {
		if operation == "connect" {
			list = append(list, benchmark{"Connect", newOrder("connect", s.how, 0, s.count, 1)})
			continue
		}
		for _, bytes := range s.sizes {
			add := func(name, order, how string, count, window int) {
				list = append(list, benchmark{name, newOrder(order, how, bytes, count, window)})
			}
			switch operation {
			case "send":
				streamed := s.count
				if iwarp { // there a message that comes before its receive ends the connection
					streamed = min(streamed, mostReceives)
				}
				add("Send/roundtrip", "roundtrip", s.how, s.count, 1)
				add("Send/stream", "rate", s.how, streamed, s.window)
			case "write":
				add("Write/roundtrip", "mailbox", "poll", s.count, 1)
				add("Write/stream", "write", "poll", s.count, s.window)
			case "read":
				add("Read/single", "read", "poll", s.count, 1)
				add("Read/stream", "read", "poll", s.count, s.window)
			}
		}
	}
	return list
}

func newOrder(name, how string, bytes, count, window int) order {
	return order{name: name, how: how, bytes: bytes, count: count, window: window, beside: "nothing"}
}

// line is the order as the server reads it.
func (o order) line() string {
	return fmt.Sprintf("%s %s %d %d %d %s", o.name, o.how, o.bytes, o.count, o.window, o.beside)
}
