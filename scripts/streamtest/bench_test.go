//go:build linux && cgo

package streamtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/goudat/goudat/scripts/streamtest/rsocket"
	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat/udattest"
)

// halfCloser is what *net.TCPConn and *stream.Conn have.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// serveBench sends everything back, or, if the first byte is 0, one byte at the end. It counts the connections.
func serveBench(l net.Listener, connections *sync.WaitGroup) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		connections.Add(1)
		go func() {
			defer connections.Done()
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

// table has the figures in the form of README.md: a column for each way, and a row for each measurement.
type table struct {
	columns, rows []string
	cells         map[[2]string]string // by row and column
}

func (t *table) set(row, column, cell string) {
	if !slices.Contains(t.columns, column) {
		t.columns = append(t.columns, column)
	}
	if !slices.Contains(t.rows, row) {
		t.rows = append(t.rows, row)
	}
	t.cells[[2]string{row, column}] = cell
}

func (t *table) String() string {
	text := "| | " + strings.Join(t.columns, " | ") + " |\n|" + strings.Repeat("---|", 1+len(t.columns)) + "\n"
	for _, row := range t.rows {
		text += "| " + row
		for _, column := range t.columns {
			text += " | " + t.cells[[2]string{row, column}]
		}
		text += " |\n"
	}
	return text
}

// size writes a length of the benchmarks as people do.
func size(length int) string {
	switch {
	case length >= 1<<20:
		return fmt.Sprint(length>>20, " MiB")
	case length >= 1<<10:
		return fmt.Sprint(length>>10, " KiB")
	}
	return fmt.Sprint(length, " byte")
}

// BenchmarkMachines measures from one machine to another, over each adapter, and over TCP and librdmacm's rsocket
// on the same network interface. At the end it prints a table for README.md.
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
		sockets, err := rsocket.Listen(netip.AddrPortFrom(peers[1], rsocketPort))
		want(b, err)
		var connections sync.WaitGroup
		go serveBench(tcp, &connections)
		go serveBench(sockets, &connections)
		meet(udattest.Context(b), "listening", tcp.Addr().String()+" "+netip.AddrPortFrom(peers[1], rsocketPort).String())
		meet(b.Context(), "measured", "")
		connections.Wait()
		var addresses []string
		for _, name := range udattest.Names(b) {
			l := listen(b, open(b, name, nil))
			go serveBench(l, &connections)
			addresses = append(addresses, l.Addr().String())
		}
		meet(udattest.Context(b), "listening with adapters", strings.Join(addresses, " "))
		meet(b.Context(), "over", "")
		return
	}
	figures := &table{cells: map[[2]string]string{}}
	addresses := strings.Fields(meet(udattest.Context(b), "listening", ""))
	benchDial(b, figures, "TCP", func() (net.Conn, error) { return net.DialTimeout("tcp", addresses[0], udattest.Patience) })
	benchDial(b, figures, "rsocket", func() (c net.Conn, err error) {
		for range 5 { // on soft-iWARP, one rconnect of a hundred fails with EINVAL
			if c, err = rsocket.Dial(netip.MustParseAddrPort(addresses[1])); !errors.Is(err, syscall.EINVAL) {
				break
			}
		}
		return c, err
	})
	// Only now: dapl's thread takes the asynchronous events of all connections that librdmacm has in the process for its own.
	meet(b.Context(), "measured", "")
	addresses = strings.Fields(meet(udattest.Context(b), "listening with adapters", ""))
	for i, name := range udattest.Names(b) {
		a := open(b, name, nil)
		benchDial(b, figures, name, func() (net.Conn, error) { return a.Dial(b.Context(), "rdma", addresses[i]) })
	}
	fmt.Printf("\n%s\n", figures)
	meet(b.Context(), "over", "")
}

// benchDial measures connections that dial makes.
func benchDial(b *testing.B, figures *table, name string, dial func() (net.Conn, error)) {
	for _, length := range []int{1, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%s/RoundTrip/%d", name, length), func(b *testing.B) {
			benchRoundTrip(b, dial, length)
			figures.set("round trip, "+size(length), name, fmt.Sprintf("%.2f ms", b.Elapsed().Seconds()*1e3/float64(b.N)))
		})
	}
	for _, length := range []int{4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%s/Throughput/%d", name, length), func(b *testing.B) {
			benchThroughput(b, dial, length)
			figures.set("writes of "+size(length), name, fmt.Sprintf("%.0f MB/s", float64(length)*float64(b.N)/1e6/b.Elapsed().Seconds()))
		})
	}
}
