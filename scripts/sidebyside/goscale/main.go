// Command goscale connects many endpoints, or has many goroutines wait: "goscale server ADAPTER QUALIFIER COUNT
// own|shared ROUNDS", "goscale client ADAPTER ADDRESS QUALIFIER COUNT own|shared ROUNDS" and "goscale waiters ADAPTER
// COUNT EVDS". It does the same as cscale in C, in the same order. The result is for each, in a line as Go's benchmarks
// print it.
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
	after := takeStock()
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
	count := float64(c.count)
	fmt.Printf("result %.0f create-ns/op\t%.0f connect-ns/op\t%.0f message-ns/op\t%.0f free-ns/op\t%.0f B/op\t%.3f files/op\n",
		float64(created)/count, float64(met)/count, float64(exchanged)/(2*count*float64(c.rounds)), float64(parted)/count,
		float64(after.resident-before.resident)/count, float64(after.files-before.files)/count)
	return c.ia.Close(udat.CloseAbrupt)
}

func timed(do func() error) (time.Duration, error) {
	start := time.Now()
	err := do()
	return time.Since(start), err
}
