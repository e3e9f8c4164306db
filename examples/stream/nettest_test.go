package stream_test

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/goudat/goudat/examples/stream"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { udattest.Main(m) }

func want(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// forEachNetwork runs a test over each adapter.
func forEachNetwork(t *testing.T, test func(t *testing.T, n *stream.Network)) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) { test(t, open(t, name)) })
	}
}

func open(t testing.TB, name string) *stream.Network {
	t.Helper()
	n, err := stream.Open(name)
	want(t, err)
	t.Cleanup(func() { want(t, n.Close()) })
	return n
}

func listen(t testing.TB, n *stream.Network) *stream.Listener {
	t.Helper()
	l, err := n.Listen(":0")
	want(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// pair makes a connection. The connecting side comes first.
func pair(n *stream.Network, l net.Listener) (a, b net.Conn, err error) {
	accepted := make(chan error, 1)
	go func() {
		var err error
		b, err = l.Accept()
		accepted <- err
	}()
	if a, err = n.Dial(l.Addr().String()); err != nil {
		return nil, nil, err
	}
	return a, b, <-accepted
}

func TestConn(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		l := listen(t, n)
		nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
			a, b, err = pair(n, l)
			return a, b, func() { _, _ = a.Close(), b.Close() }, err
		})
	})
}
