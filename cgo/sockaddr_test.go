//go:build linux

package cgo

import (
	"net/netip"
	"testing"
)

// An address passes into C and back with its zone, which is an interface's name or its index.
func TestSockAddr(t *testing.T) {
	for text, want := range map[string]string{
		"10.77.0.1": "10.77.0.1", "::ffff:10.77.0.1": "10.77.0.1", "fd00::1": "fd00::1", "fe80::1%lo": "fe80::1%lo", "fe80::1%1": "fe80::1%lo", "fe80::1%99999": "fe80::1%99999",
	} {
		s := NewSockAddr(netip.MustParseAddr(text))
		if got := s.Addr().String(); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
	for _, none := range []netip.Addr{{}, netip.MustParseAddr("fe80::1%nowhere")} {
		if s := NewSockAddr(none); s != (SockAddr{}) {
			t.Errorf("%v becomes % x", none, s)
		}
	}
}
