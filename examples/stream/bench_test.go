//go:build linux && cgo

package stream_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/goudat/goudat/examples/stream/rsocket"
	"github.com/goudat/goudat/udat/udattest"
	"github.com/goudat/goudat/udat/udattest/control"
)

// halfCloser is what *net.TCPConn and *stream.Conn have.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// serveBench sends everything back, or, if the first byte is 0, one byte at the end.
func serveBench(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			first := make([]byte, 1)
			if _, err := io.ReadFull(c, first); err != nil {
				return
			}
			buffer := make([]byte, 256<<10)
			for {
				n, err := c.Read(buffer)
				if err != nil {
					_, _ = c.Write(first)
					return
				}
				if first[0] == 0 {
					continue
				}
				if _, err := c.Write(buffer[:n]); err != nil {
					return
				}
			}
		}()
	}
}

func benchRoundTrip(b *testing.B, dial func() (net.Conn, error), length int) {
	c, err := dial()
	want(b, err)
	defer func() { _ = c.Close() }()
	_, err = c.Write([]byte{1})
	want(b, err)
	message := make([]byte, length)
	for b.Loop() {
		_, err := c.Write(message)
		want(b, err)
		_, err = io.ReadFull(c, message)
		want(b, err)
	}
}

func benchThroughput(b *testing.B, dial func() (net.Conn, error), length int) {
	c, err := dial()
	want(b, err)
	defer func() { _ = c.Close() }()
	_, err = c.Write([]byte{0})
	want(b, err)
	message := make([]byte, length)
	b.SetBytes(int64(length))
	b.ResetTimer()
	for range b.N {
		_, err := c.Write(message)
		want(b, err)
	}
	want(b, c.(halfCloser).CloseWrite())
	_, err = io.ReadFull(c, message[:1]) // the peer has read everything
	want(b, err)
}

const rsocketPort = 7471

// served is whether the serving machine has done its part. Package testing calls a benchmark without parts several times.
var served bool

// BenchmarkMachines measures from one machine to another, over each adapter, and over TCP and librdmacm's rsocket
// on the same network interface.
func BenchmarkMachines(b *testing.B) {
	rank, err := control.Rank()
	if err != nil {
		b.Skip(err)
	}
	meet := func(ctx context.Context, name, value string) string {
		values, err := control.Meet(ctx, b.Name()+" "+name, value, 0, 1)
		want(b, err)
		return values[1]
	}
	names := udattest.Names(b)
	peers, err := control.Peers()
	want(b, err)
	if rank == 1 {
		if served {
			return
		}
		served = true
		tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(peers[1], 0)))
		want(b, err)
		defer func() { _ = tcp.Close() }()
		go serveBench(tcp)
		addresses := []string{tcp.Addr().String(), netip.AddrPortFrom(peers[1], rsocketPort).String()}
		sockets, err := rsocket.Listen(netip.MustParseAddrPort(addresses[1]))
		want(b, err)
		go serveBench(sockets)
		for _, name := range names {
			l := listen(b, open(b, name))
			go serveBench(l)
			addresses = append(addresses, l.Addr().String())
		}
		meet(udattest.Context(b), "listening", strings.Join(addresses, " "))
		meet(b.Context(), "over", "")
		return
	}
	addresses := strings.Fields(meet(udattest.Context(b), "listening", ""))
	dials := map[string]func() (net.Conn, error){
		"tcp":     func() (net.Conn, error) { return net.DialTimeout("tcp", addresses[0], udattest.Patience) },
		"rsocket": func() (net.Conn, error) { return rsocket.Dial(netip.MustParseAddrPort(addresses[1])) },
	}
	for i, name := range names {
		n := open(b, name)
		dials[name] = func() (net.Conn, error) { return n.Dial(addresses[i+2]) }
	}
	for _, name := range append([]string{"tcp", "rsocket"}, names...) {
		for _, length := range []int{1, 4 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("%s/RoundTrip/%d", name, length), func(b *testing.B) { benchRoundTrip(b, dials[name], length) })
		}
		for _, length := range []int{4 << 10, 64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/Throughput/%d", name, length), func(b *testing.B) { benchThroughput(b, dials[name], length) })
		}
	}
	meet(b.Context(), "over", "")
}
