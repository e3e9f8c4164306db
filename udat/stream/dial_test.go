package stream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/stream"
	"github.com/goudat/goudat/udat/udattest"
)

func TestDialErrors(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		l := listen(t, a)
		address := l.Addr().String()
		want(t, l.Close())
		if _, err := dial(t, a, address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens, and the error is %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept on a closed listener returned %v", err)
		}
		for _, bad := range []string{"", "host", "127.0.0.1:port-of-nobody", "127.0.0.1:99999"} {
			if _, err := dial(t, a, bad); err == nil {
				t.Errorf("a connection to %q", bad)
			}
			if _, err := a.Listen(t.Context(), "rdma", bad); err == nil {
				t.Errorf("a listener on %q", bad)
			}
		}
	})
}

// The errors name the address, as far as it is known, and match those of package net.
func TestListenErrors(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		l := listen(t, a)
		for address, number := range map[string]error{l.Addr().String(): syscall.EADDRINUSE, "127.0.0.1:1025": syscall.EADDRNOTAVAIL} {
			_, err := a.Listen(t.Context(), "rdma", address)
			if prefix := "listen rdma " + address + ": "; !errors.Is(err, number) || !strings.HasPrefix(err.Error(), prefix) {
				t.Errorf("the error is %q, want %q and %v", err, prefix, number)
			}
		}
		_, err := a.Listen(t.Context(), "rdma", "host")
		if want := "listen rdma: address host: missing port in address"; err == nil || err.Error() != want {
			t.Errorf("the error is %q, want %q", err, want)
		}
		_, err = dial(t, a, "host")
		if want := "dial rdma: address host: missing port in address"; err == nil || err.Error() != want {
			t.Errorf("the error is %q, want %q", err, want)
		}
	})
}

// An address without a route is what TCP says of it.
func TestUnreachable(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		nowhere := "203.0.113.1:7" // of documents
		if netip.MustParseAddrPort(listen(t, a).Addr().String()).Addr().Is6() {
			nowhere = "[2001:db8::1]:7"
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := new(net.Dialer).DialContext(ctx, "tcp", nowhere); !errors.Is(err, syscall.ENETUNREACH) {
			t.Logf("not tested: this machine has a route to %s (%v)", nowhere, err)
			return
		}
		if _, err := a.Dial(ctx, "rdma", nowhere); !errors.Is(err, syscall.ENETUNREACH) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestNetworks(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		for _, network := range []string{"", "udp", "unix", "4", "rdma5", "tcprdma", "rdmatcp"} {
			var unknown net.UnknownNetworkError
			if _, err := a.Dial(t.Context(), network, ":1"); !errors.As(err, &unknown) {
				t.Errorf("Dial with the network %q returned %v", network, err)
			}
			if _, err := a.Listen(t.Context(), network, ":0"); !errors.As(err, &unknown) {
				t.Errorf("Listen with the network %q returned %v", network, err)
			}
		}
		family, other := "4", "6"
		if netip.MustParseAddrPort(listen(t, a).Addr().String()).Addr().Is6() {
			family, other = other, family
		}
		for _, network := range []string{"rdma", "tcp"} {
			for _, family := range []string{"", family} {
				l, err := a.Listen(t.Context(), network+family, ":0")
				want(t, err)
				c, err := a.Dial(t.Context(), network+family, l.Addr().String())
				want(t, err)
				_, _ = c.Close(), l.Close()
			}
			if _, err := a.Listen(t.Context(), network+other, ":0"); err == nil {
				t.Errorf("a listener of %s%s", network, other)
			}
		}
	})
}

// The host may be left out or be unspecified: it is the adapter.
func TestOwnAddress(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		for _, host := range []string{"", "0.0.0.0", "::"} {
			l, err := a.Listen(t.Context(), "rdma", net.JoinHostPort(host, "0"))
			want(t, err)
			_, port, _ := net.SplitHostPort(l.Addr().String())
			x, err := dial(t, a, net.JoinHostPort(host, port))
			want(t, err)
			y := accept(t, l)
			if x.RemoteAddr() != l.Addr() || y.LocalAddr() != l.Addr() {
				t.Errorf("%v connects to %v, %v to %v", x.LocalAddr(), x.RemoteAddr(), y.RemoteAddr(), y.LocalAddr())
			}
			for _, address := range []net.Addr{l.Addr(), x.LocalAddr(), y.RemoteAddr()} {
				if _, err := net.ResolveTCPAddr("tcp", address.String()); err != nil {
					t.Error(err)
				}
			}
			_, _, _ = x.Close(), y.Close(), l.Close()
		}
	})
}

// Of a name with several addresses, those that do not work are no hindrance.
func TestAllAddresses(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	const hosts, name = "/etc/hosts", "several.test" // looked up nowhere else: package net remembers the file for a while
	before, err := os.ReadFile(hosts)
	want(t, err)
	t.Cleanup(func() { want(t, os.WriteFile(hosts, before, 0o644)) })
	own := udattest.Address(t, udattest.Open(t, udattest.Names(t)[0]))
	after := fmt.Appendf(before[:len(before):len(before)], "\n%v %s\n%v %[2]s\n", own.Next(), name, own) // nobody has the first
	want(t, os.WriteFile(hosts, after, 0o644))
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		a := open(t, ia.Name(), &stream.Config{ConnectTimeout: 4 * time.Second})
		l := listen(t, a)
		_, port, _ := net.SplitHostPort(l.Addr().String())
		c, err := dial(t, a, net.JoinHostPort(name, port))
		want(t, err)
		want(t, accept(t, l).Close())
		want(t, c.Close())
	})
}

// A listener that never answers does not hold a dial longer than its context, or the settings.
func TestDialTimeout(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			a := open(t, name, &stream.Config{ConnectTimeout: 200 * time.Millisecond})
			silent := udattest.Listen(t, udattest.Open(t, name))
			address := net.JoinHostPort(udattest.Address(t, udattest.Open(t, name)).String(), strconv.FormatUint(uint64(silent.ConnQual), 10))
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			for _, ctx := range []context.Context{ctx, t.Context()} {
				_, err := a.Dial(ctx, "tcp", address)
				var netErr net.Error
				if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &netErr) || !netErr.Timeout() {
					t.Errorf("the dial returned %v", err)
				}
				udattest.Expect(t, silent.Requests, udat.EventConnectionRequest)
			}
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			if _, err := a.Dial(ctx, "tcp", address); !errors.Is(err, context.Canceled) {
				t.Errorf("the canceled dial returned %v", err)
			}
		})
	}
}

// A storm of dials is not refused: those that cannot be made yet wait.
func TestStorm(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		a := open(t, ia.Name(), &stream.Config{Window: 16 << 10, Messages: 8}) // a process in User-Mode Linux has few pages
		dials := 200
		if udattest.IWARP(t, ia) {
			dials = 8 // libsiw has pages for the queues of few endpoints
		}
		l := listen(t, a)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					_, _ = c.(*stream.Conn).WriteTo(c)
					_ = c.Close()
				}()
			}
		}()
		var group sync.WaitGroup
		for i := range dials {
			group.Add(1)
			go func() {
				defer group.Done()
				c, err := dial(t, a, l.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(udattest.Patience))
				b := []byte{byte(i)}
				if _, err := c.Write(b); err != nil {
					t.Error(err)
				}
				if _, err := c.Read(b); err != nil || b[0] != byte(i) {
					t.Errorf("dial %d: the echo is %v, and the error %v", i, b, err)
				}
			}()
		}
		group.Wait()
	})
}

// Connections that come one after the other leave nothing behind, and one port that is taken fails none.
func TestManyDials(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		a := open(t, ia.Name(), nil)
		l := listen(t, a)
		for i := range 300 {
			x, err := dial(t, a, l.Addr().String())
			if err != nil {
				t.Fatalf("dial %d: %v", i, err)
			}
			y := accept(t, l)
			want(t, x.Close())
			want(t, y.Close())
		}
	})
}

// A dial that is canceled at any moment, and Close beside dials, hold up nobody.
func TestDialsEndedAnytime(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		address := listen(t, a).Addr().String()
		for i := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Microsecond)
			if c, err := a.Dial(ctx, "rdma", address); err == nil {
				want(t, c.Close())
			}
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), patience)
			c, err := a.Dial(ctx, "rdma", address)
			cancel()
			if err != nil {
				t.Fatalf("after %d canceled dials, another one returned %v", i+1, err)
			}
			want(t, c.Close())
		}
	})
	for _, name := range udattest.Names(t) {
		for range 5 {
			a, err := stream.Open(name, nil)
			want(t, err)
			address := listen(t, a).Addr().String()
			var dials sync.WaitGroup
			connected := make(chan struct{}, 100)
			for range 4 {
				dials.Add(1)
				go func() {
					defer dials.Done()
					for {
						c, err := dial(t, a, address)
						if err != nil {
							return // the adapter is closed
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
			want(t, a.Close())
			dials.Wait()
			if took := time.Since(began); took > patience {
				t.Errorf("Close beside dials took %v", took)
			}
		}
	}
}

// patience is far less than the ten seconds for which soft-iWARP lets an attempt wait for its answer.
const patience = 5 * time.Second
