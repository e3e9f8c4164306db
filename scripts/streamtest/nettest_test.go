package streamtest

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"

	"github.com/goudat/goudat/udat/stream"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { udattest.Main(m) }

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

func open(t testing.TB, name string, config *stream.Config) *stream.Adapter {
	t.Helper()
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

func TestConn(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		l := listen(t, a)
		nettest.TestConn(t, func() (x, y net.Conn, stop func(), err error) {
			if x, err = a.Dial(t.Context(), "rdma", l.Addr().String()); err != nil {
				return nil, nil, nil, err
			}
			y, err = l.Accept()
			return x, y, func() { _, _ = x.Close(), y.Close() }, err
		})
	})
}
