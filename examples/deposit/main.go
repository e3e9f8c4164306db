// Deposit is the port of a C program, c/deposit.c, and talks to it: a client writes bytes into the memory of a server
// by RDMA, and the server returns the sum of the bytes. side-by-side.md explains both, step by step.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/goudat/goudat/udat"
)

// step: main
type settings struct {
	qual     udat.ConnQual
	bytes    int
	host     string // of the server, for a client
	both     bool
	adapters []string // one, or any number with -both
}

func main() {
	s, err := parseFlags()
	if err != nil {
		fmt.Fprintln(os.Stderr, "deposit:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, s)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "deposit:", err)
		os.Exit(1)
	}
}

func parseFlags() (s settings, err error) {
	flag.Uint64Var((*uint64)(&s.qual), "q", 7475, "connection `qualifier` of the server")
	flag.IntVar(&s.bytes, "n", 1000000, "`bytes` that the client writes")
	flag.StringVar(&s.host, "c", "", "be the client of the server on `host`")
	flag.BoolVar(&s.both, "both", false, "be both sides, on each of the adapters; default: those of $UDAT_TEST_IA")
	flag.Parse()
	s.adapters = flag.Args()
	if names := os.Getenv("UDAT_TEST_IA"); s.both && len(s.adapters) == 0 && names != "" {
		s.adapters = strings.Split(names, ",")
	}
	switch {
	case s.qual < 1:
		err = errors.New("-q must be at least 1")
	case s.bytes < 1 || s.bytes > maxBytes:
		err = fmt.Errorf("-n must be 1 to %d", maxBytes)
	case s.both && s.host != "":
		err = errors.New("-both and -c exclude each other")
	case len(s.adapters) == 0:
		err = errors.New("the name of an adapter is missing")
	case len(s.adapters) > 1 && !s.both:
		err = fmt.Errorf("unexpected argument %q", s.adapters[1])
	}
	return s, err
}

func run(ctx context.Context, s settings) error {
	if s.both {
		for _, adapter := range s.adapters {
			if err := runBoth(ctx, adapter, s); err != nil {
				return err
			}
		}
		return nil
	}
	return withNode(s.adapters[0], func(n *node) error {
		if s.host != "" {
			return n.deposit(ctx, s.host, s.qual, s.bytes)
		}
		return n.serve(ctx, s.qual, func() {})
	})
}

// step: both
func runBoth(ctx context.Context, adapter string, s settings) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listening := make(chan netip.Addr, 1)
	served := make(chan error, 1)
	go func() {
		served <- withNode(adapter, func(n *node) error {
			attr, _, err := n.ia.Query()
			if err != nil {
				return err
			}
			return n.serve(ctx, s.qual, func() { listening <- attr.Address })
		})
	}()
	select {
	case err := <-served:
		return err
	case address := <-listening:
		err := withNode(adapter, func(n *node) error {
			return n.deposit(ctx, address.String(), s.qual, s.bytes)
		})
		if err != nil {
			cancel() // a server without a client would wait forever
		}
		return errors.Join(err, <-served)
	}
}
