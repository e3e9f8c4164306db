// Command goscale connects many endpoints, or has many goroutines wait: "goscale server ADAPTER QUALIFIER COUNT
// own|shared ROUNDS", "goscale client ADAPTER ADDRESS QUALIFIER COUNT own|shared ROUNDS" and "goscale waiters ADAPTER
// COUNT EVDS". It does the same as cscale in C, in the same order. The result is a line on standard output. Times are
// in ns. Memory is in bytes for each endpoint or waiter.
package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/goudat/goudat/udat"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scale in Go:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 4 && args[0] == "waiters" {
		count, evds := number(args[2]), number(args[3])
		if count < 1 || evds < 1 {
			return errors.New("there must be waiters and event dispatchers")
		}
		return measureWaiters(args[1], count, evds)
	}
	server := len(args) == 6 && args[0] == "server"
	if client := len(args) == 7 && args[0] == "client"; !server && !client {
		return errors.New("server ADAPTER QUALIFIER COUNT own|shared ROUNDS, client ADAPTER ADDRESS QUALIFIER COUNT own|shared ROUNDS, or waiters ADAPTER COUNT EVDS")
	}
	rest := args[len(args)-4:]
	c := &crowd{server: server, qual: udat.ConnQual(number(rest[0])), count: number(rest[1]), own: rest[2] == "own", rounds: number(rest[3])}
	if c.count < 1 || c.rounds < 1 {
		return errors.New("there must be endpoints and rounds")
	}
	if !server {
		var err error
		if c.address, err = netip.ParseAddr(args[2]); err != nil {
			return err
		}
	}
	return c.measure(args[1])
}

// number returns 0 if text is not a number.
func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// measure makes both sides do the same work, and prints how long each part took.
func (c *crowd) measure(adapter string) error {
	if err := c.open(adapter); err != nil {
		return err
	}
	before := takeStock()
	created, err := timed(c.create)
	if err != nil {
		return err
	}
	if c.server {
		if err := c.listen(); err != nil {
			return err
		}
	}
	met, err := timed(c.meet)
	if err != nil {
		return err
	}
	grown := takeStock().since(before)
	if err := c.exchange(1); err != nil { // until both sides have finished the step
		return err
	}
	exchanged, err := timed(func() error { return c.exchange(c.rounds) })
	if err != nil {
		return err
	}
	parted, err := timed(c.part)
	if err != nil {
		return err
	}
	each := func(d time.Duration) int { return int(d) / c.count }
	fmt.Printf("result create=%d connect=%d memory=%d heap=%d message=%v free=%d threads=%d files=%v\n", each(created), each(met),
		grown.resident/c.count, grown.heap/c.count, float64(exchanged)/float64(2*c.count*c.rounds), each(parted), grown.threads, float64(grown.files)/float64(c.count))
	return c.close()
}

func timed(do func() error) (time.Duration, error) {
	start := time.Now()
	err := do()
	return time.Since(start), err
}
