package stream_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/stream"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestDialErrors(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		l := listen(t, n)
		address := l.Addr().String()
		want(t, l.Close())
		if _, err := n.Dial(address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens, and the error is %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept on a closed listener returned %v", err)
		}
		for _, bad := range []string{"", "host", "127.0.0.1:port-of-nobody", "127.0.0.1:99999"} {
			if _, err := n.Dial(bad); err == nil {
				t.Errorf("a connection to %q", bad)
			}
			if _, err := n.Listen(bad); err == nil {
				t.Errorf("a listener on %q", bad)
			}
		}
	})
}

// The errors name the address, as far as it is known.
func TestAddressInErrors(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		l := listen(t, n)
		for _, address := range []string{l.Addr().String(), "127.0.0.1:1025"} {
			_, err := n.Listen(address)
			if want := "listen rdma " + address + ": "; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("the error is %q, want %q and the reason", err, want)
			}
		}
		_, err := n.Listen("host")
		if want := "listen rdma: address host: missing port in address"; err == nil || err.Error() != want {
			t.Errorf("the error is %q, want %q", err, want)
		}
		_, err = n.Dial("host")
		if want := "dial rdma: address host: missing port in address"; err == nil || err.Error() != want {
			t.Errorf("the error is %q, want %q", err, want)
		}
	})
}

// A listener that never answers does not hold a dial longer than its context.
func TestDialCanceled(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			n := open(t, name)
			silent := udattest.Listen(t, udattest.Open(t, name))
			address := net.JoinHostPort(udattest.Address(t, udattest.Open(t, name)).String(), portOf(silent.ConnQual))
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := n.DialContext(ctx, "tcp", address)
			var netErr net.Error
			if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &netErr) || !netErr.Timeout() {
				t.Errorf("the dial returned %v", err)
			}
			udattest.Expect(t, silent.Requests, udat.EventConnectionRequest)
		})
	}
}

func portOf(qual udat.ConnQual) string { return strconv.FormatUint(uint64(qual), 10) }

// A dial that is canceled at any moment, and Close beside dials, hold up nobody.
func TestDialsEndedAnytime(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		address := listen(t, n).Addr().String()
		for i := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Microsecond)
			if c, err := n.DialContext(ctx, "", address); err == nil {
				want(t, c.Close())
			}
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), patience)
			c, err := n.DialContext(ctx, "", address)
			cancel()
			if err != nil {
				t.Fatalf("after %d canceled dials, another one returned %v", i+1, err)
			}
			want(t, c.Close())
		}
	})
	for _, name := range udattest.Names(t) {
		for range 5 {
			n, err := stream.Open(name)
			want(t, err)
			address := listen(t, n).Addr().String()
			var dials sync.WaitGroup
			connected := make(chan struct{}, 100)
			for range 4 {
				dials.Add(1)
				go func() {
					defer dials.Done()
					for {
						c, err := n.Dial(address)
						if err != nil {
							return // the network is closed
						}
						_ = c.Close()
						select {
						case connected <- struct{}{}:
						default:
						}
					}
				}()
			}
			<-connected
			began := time.Now()
			want(t, n.Close())
			dials.Wait()
			if took := time.Since(began); took > patience {
				t.Errorf("Close beside dials took %v", took)
			}
		}
	}
}

// patience is far less than the ten seconds for which soft-iWARP lets an attempt wait for its answer.
const patience = 5 * time.Second
