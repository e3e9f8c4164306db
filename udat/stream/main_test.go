package stream_test

import (
	"bytes"
	"net"
	"runtime/debug"
	"testing"
	"time"

	"github.com/goudat/goudat/udat/stream"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(10) // with the race detector, a process in User-Mode Linux has few pages
	udattest.Main(m)
}

func want(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// forEachAdapter runs a test over each adapter.
func forEachAdapter(t *testing.T, test func(t *testing.T, a *stream.Adapter)) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) { test(t, open(t, name, nil)) })
	}
}

// open opens an adapter, until the test ends. Without settings it is patient, since machines may get no processor for seconds.
func open(t testing.TB, name string, config *stream.Config) *stream.Adapter {
	t.Helper()
	if config == nil {
		config = &stream.Config{Window: 192 << 10, Linger: udattest.Patience, SilenceTimeout: udattest.Patience}
	}
	a, err := stream.Open(name, config)
	want(t, err)
	t.Cleanup(func() { want(t, a.Close()) })
	return a
}

func listen(t testing.TB, a *stream.Adapter) net.Listener {
	t.Helper()
	l, err := a.Listen(t.Context(), "rdma", ":0")
	want(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func dial(t testing.TB, a *stream.Adapter, address string) (*stream.Conn, error) {
	c, err := a.Dial(udattest.Context(t), "rdma", address)
	if err != nil {
		return nil, err
	}
	return c.(*stream.Conn), nil
}

func accept(t testing.TB, l net.Listener) *stream.Conn {
	t.Helper()
	bound := time.AfterFunc(udattest.Patience, func() { _ = l.Close() })
	defer bound.Stop()
	c, err := l.Accept()
	want(t, err)
	return c.(*stream.Conn)
}

// pair makes a connection, with a deadline on everything. The connecting side comes first.
func pair(t testing.TB, a *stream.Adapter) (x, y *stream.Conn) {
	t.Helper()
	return pairAcross(t, a, a)
}

func pairAcross(t testing.TB, from, to *stream.Adapter) (x, y *stream.Conn) {
	t.Helper()
	l := listen(t, to)
	x, err := dial(t, from, l.Addr().String())
	want(t, err)
	y = accept(t, l)
	for _, c := range []*stream.Conn{x, y} {
		want(t, c.SetDeadline(time.Now().Add(udattest.Patience)))
		t.Cleanup(func() { _ = c.Close() })
	}
	return x, y
}

// numbers returns bytes that differ from place to place.
func numbers(length int) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(i>>16 + i>>8 + i)
	}
	return b
}

func same(t testing.TB, got, sent []byte) {
	t.Helper()
	if !bytes.Equal(got, sent) {
		t.Errorf("%d bytes have arrived, not the %d that were sent", len(got), len(sent))
	}
}
