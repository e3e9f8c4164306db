package dtestparams_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/dtestparams"
)

// pair returns both ends of a connection.
func pair(t *testing.T, ctx context.Context) (server, client *dtestparams.Conn) {
	listener, err := dtestparams.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = dtestparams.Dial(ctx, "127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close(); client.Close() })
	return server, client
}

func TestBothWays(t *testing.T) {
	server, client := pair(t, t.Context())
	for _, c := range []struct{ from, to *dtestparams.Conn }{{server, client}, {client, server}} {
		want := dtestparams.Parameters{Address: netip.MustParseAddr("10.1.2.3"), Provider: "cma:eth0"}
		if err := c.from.Send(want); err != nil {
			t.Fatal(err)
		}
		if got, err := c.to.Receive(); err != nil || got != want {
			t.Errorf("got %v and %v, want %v", got, err, want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, client := pair(t, ctx)
	listener, err := dtestparams.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := client.Receive(); !errors.Is(err, context.Canceled) {
		t.Errorf("receiving ends with %v", err)
	}
	if _, err := listener.Accept(); !errors.Is(err, context.Canceled) {
		t.Errorf("accepting ends with %v", err)
	}
}

func TestPeerLeaves(t *testing.T) {
	server, client := pair(t, t.Context())
	server.Close()
	if p, err := client.Receive(); err == nil {
		t.Errorf("got %v", p)
	}
}
