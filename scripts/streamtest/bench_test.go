//go:build linux && cgo

package streamtest

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat/udattest"
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

// conns measures connections that a function makes.
type conns func() (net.Conn, error)

func (dial conns) roundTrip(b *testing.B, length int) {
	c, err := dial()
	want(b, err)
	defer func() { _ = c.Close() }()
	_, err = c.Write([]byte{1})
	want(b, err)
	message := make([]byte, length)
	b.ResetTimer()
	for range b.N {
		_, err := c.Write(message)
		want(b, err)
		_, err = io.ReadFull(c, message)
		want(b, err)
	}
}

func (dial conns) send(b *testing.B, length int) {
	c, err := dial()
	want(b, err)
	defer func() { _ = c.Close() }()
	_, err = c.Write([]byte{0})
	want(b, err)
	message := make([]byte, length)
	b.ResetTimer()
	for range b.N {
		_, err := c.Write(message)
		want(b, err)
	}
	want(b, c.(halfCloser).CloseWrite())
	_, err = io.ReadFull(c, message[:1]) // the peer has read everything
	want(b, err)
}

func (dial conns) connect(b *testing.B) {
	for range b.N {
		c, err := dial()
		want(b, err)
		want(b, c.Close())
	}
}

// way is one to carry bytes between two machines.
type way interface {
	roundTrip(b *testing.B, length int)
	send(b *testing.B, length int)
	connect(b *testing.B)
}

// served is whether the serving machine has done its part. Package testing calls a benchmark without parts several times.
var served bool

// BenchmarkMachines measures from one machine to another: TCP, messages of package udat, and streams, over the network
// interface of each adapter.
func BenchmarkMachines(b *testing.B) {
	rank, err := control.Rank()
	if err != nil {
		b.Skip(err)
	}
	peers, err := control.Peers()
	want(b, err)
	if served {
		return
	}
	served = rank == 1
	for _, name := range udattest.Names(b) {
		meet := func(value string) string {
			values, err := control.Meet(udattest.Context(b), name, value, 0, 1)
			want(b, err)
			return values[1]
		}
		ia := udattest.Open(b, name)
		a := open(b, name, nil)
		if rank == 1 {
			tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(peers[1], 0)))
			want(b, err)
			b.Cleanup(func() { _ = tcp.Close() })
			streams, listener := listen(b, a), udattest.Listen(b, ia)
			go serveBench(tcp)
			go serveBench(streams)
			meet(fmt.Sprint(tcp.Addr(), " ", streams.Addr(), " ", uint64(listener.ConnQual)))
			serveMessages(b, ia, listener)
			continue
		}
		addresses := strings.Fields(meet(""))
		m := newMessages(b, ia, peers[1], addresses[2])
		ways := []struct {
			name string
			way
		}{
			{"TCP", conns(func() (net.Conn, error) { return net.DialTimeout("tcp", addresses[0], udattest.Patience) })},
			{"messages", m},
			{"stream", conns(func() (net.Conn, error) { return a.Dial(b.Context(), "rdma", addresses[1]) })},
		}
		measure := func(title string, do func(w way, b *testing.B)) {
			for _, w := range ways {
				b.Run(fmt.Sprintf("%s/ia=%s/in=%s", title, name, w.name), func(b *testing.B) { do(w, b) })
			}
		}
		for _, length := range []int{1, 4 << 10, 64 << 10} {
			measure(fmt.Sprint("RoundTrip/bytes=", length), func(w way, b *testing.B) { w.roundTrip(b, length) })
		}
		for _, length := range []int{4 << 10, 64 << 10, 1 << 20} {
			measure(fmt.Sprint("Send/bytes=", length), func(w way, b *testing.B) { w.send(b, length) })
		}
		measure("Connect", way.connect)
		m.end(b)
	}
}
