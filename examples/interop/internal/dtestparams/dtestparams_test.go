package dtestparams

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func marshaled(t *testing.T, p Parameters) string {
	t.Helper()
	b, err := p.marshal()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLayout(t *testing.T) {
	p := Parameters{netip.MustParseAddr("10.77.0.1"), "ofa-v2-cma-rxe0"}
	address := "01004d0a"
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		address = "0a4d0001"
	}
	text := "0000:00000000:00000000:" + address + ":ofa-v2-cma-rxe0"
	want := text + strings.Repeat("\x00", 128-len(text))
	if diff := cmp.Diff(want, marshaled(t, p)); diff != "" {
		t.Errorf("layout (-want +got):\n%s", diff)
	}
	for _, p.Provider = range []string{"cma:eth0", strings.Repeat("p", maxProvider)} {
		got, err := parse([]byte(marshaled(t, p)))
		if err != nil || got != p {
			t.Errorf("%v arrives as %v, %v", p, got, err)
		}
	}
}

// An IPv6 address follows the provider. A zone means something on its own host alone.
func TestLayoutOfIPv6(t *testing.T) {
	p := Parameters{netip.MustParseAddr("fe80::1%eth0"), "cma:eth0"}
	text := "0000:00000000:00000000:00000000:cma:eth0 fe80::1"
	if got := strings.TrimRight(marshaled(t, p), "\x00"); got != text {
		t.Errorf("the message is %q, want %q", got, text)
	}
	for _, bad := range []string{"", "two words", strings.Repeat("p", maxProvider+1)} {
		if b, err := (Parameters{p.Address, bad}).marshal(); err == nil {
			t.Errorf("the provider %q is sent as %q", bad, b)
		}
	}
	long := Parameters{netip.MustParseAddr("fd00:1111:2222:3333:4444:5555:6666:7777"), strings.Repeat("p", maxProvider)}
	if b, err := long.marshal(); err == nil {
		t.Errorf("what does not fit is sent as %q", b)
	}
	p.Address = p.Address.WithZone("")
	if got, err := parse([]byte(marshaled(t, p))); err != nil || got != p {
		t.Errorf("%v arrives as %v, %v", p, got, err)
	}
}

func TestNotUnderstood(t *testing.T) {
	for _, text := range []string{"", "GET / HTTP/1.1", "0000:00000000:00000000:01004d0a", "0000:00000000:00000000:01004d0a:",
		"0000:00000000:00000000:hello:p", "0000:00000000:00000000:00000000:p 10.77.0.1", "0000:00000000:00000000:01004d0a:p fe80::1",
		"0000:00000000:00000000:01004d0a:two words",
		"0000:00000000:00000000:01004d0a:" + strings.Repeat("p", 90),
		"0001:00000011:00000000:00000000:ofa-v2-ucm", "0000:00000000:00000000:1ffffffff:p"} {
		b := make([]byte, size)
		copy(b, text)
		if p, err := parse(b); err == nil {
			t.Errorf("%q returned %v", text, p)
		}
	}
}

// Each side hears from the other, until that leaves or the context ends.
func TestConnection(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	clients := make(chan *Conn, 1)
	server, err := Accept(ctx, func() {
		go func() {
			client, err := Dial(ctx, "127.0.0.1")
			if err != nil {
				t.Error(err)
			}
			clients <- client
		}()
	})
	client := <-clients
	if err != nil || client == nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, c := range []struct{ from, to *Conn }{{server, client}, {client, server}} {
		want := Parameters{netip.MustParseAddr("10.1.2.3"), "cma:eth0"}
		if err := c.from.Send(want); err != nil {
			t.Fatal(err)
		}
		if got, err := c.to.Receive(); err != nil || got != want {
			t.Errorf("got %v and %v, want %v", got, err, want)
		}
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := client.Receive(); !errors.Is(err, context.Canceled) {
		t.Errorf("receiving ends with %v", err)
	}
	server.Close()
	if _, err := Accept(ctx, func() {}); !errors.Is(err, context.Canceled) {
		t.Errorf("accepting ends with %v", err)
	}
}
