// Pingpong takes an endpoint through its whole life: two processes connect,
// exchange messages, write and read each other's memory by RDMA, check every
// byte, and disconnect, gracefully and abruptly. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/internal/messagesizes"
	"github.com/goudat/goudat/udat"
)

// settings are what both sides must know; the client tells them to the server.
type settings struct {
	provider string
	qual     udat.ConnQual
	sizes    []int
	count    int
	graceful bool
	timeout  time.Duration
}

func (s settings) largest() int { return slices.Max(s.sizes) }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pingpong:", err)
		os.Exit(1)
	}
}

func run() error {
	providers := flag.String("provider", os.Getenv("UDAT_TEST_IA"), "registry `names` of the adapters to use, separated by commas; default: $UDAT_TEST_IA, else all that open")
	sizes := flag.String("sizes", "0,1,64,1024,4096,65536", "message sizes in `bytes`, separated by commas")
	count := flag.Int("count", 50, "round trips for each size")
	qual := flag.Uint("qual", 7471, "connection qualifier that the server listens on")
	disconnect := flag.String("disconnect", "", "graceful or abrupt; default: one run of each, or graceful with -connect")
	timeout := flag.Duration("timeout", 2*time.Minute, "most that one run may take")
	server := flag.Bool("server", false, "be the server, for one client on another host")
	connect := flag.String("connect", "", "be the client of the server on `host`")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	s := settings{qual: udat.ConnQual(*qual), count: *count, timeout: *timeout, graceful: *disconnect != "abrupt"}
	var err error
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case *server && *connect != "":
		return errors.New("-server and -connect exclude each other")
	case *count < 1 || *count > maxCount:
		return fmt.Errorf("-count must be 1 to %d", maxCount)
	case !slices.Contains([]string{"", "graceful", "abrupt"}, *disconnect):
		return errors.New("-disconnect must be graceful or abrupt")
	}
	if s.sizes, err = messagesizes.Parse(*sizes, 0, maxSize, maxSizes); err != nil {
		return fmt.Errorf("-sizes: %w", err)
	}
	names, err := adapter.Names(*providers)
	if err != nil {
		return err
	}
	switch {
	case *server:
		s.provider = names[0]
		return within(ctx, 0, func(ctx context.Context) error { return serve(ctx, s) })
	case *connect != "":
		s.provider = names[0]
		address, err := resolve(*connect)
		if err != nil {
			return err
		}
		return within(ctx, s.timeout, func(ctx context.Context) error { return dial(ctx, s, address) })
	}
	modes := []bool{true, false}
	if *disconnect != "" {
		modes = []bool{s.graceful}
	}
	for _, s.provider = range names {
		for _, s.graceful = range modes {
			if err := runBoth(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func within(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("the run took longer than -timeout %v: %w", limit, context.DeadlineExceeded))
		defer cancel()
	}
	return f(ctx)
}

func resolve(host string) (netip.Addr, error) {
	addresses, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip4", host)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("-connect: %w", err)
	}
	return addresses[0].Unmap(), nil
}
