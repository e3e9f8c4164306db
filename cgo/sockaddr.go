package cgo

import (
	"encoding/binary"
	"net/netip"
	"syscall"
)

// SockAddr holds an adapter's address as the library takes it: a struct
// sockaddr_in, in as many bytes as a struct sockaddr_in6, since the library
// always copies that many.
type SockAddr [28]byte

const sockAddrInSize = 16

// NewSockAddr makes the form of an IPv4 address, without a port; the zero
// SockAddr for any other.
func NewSockAddr(addr netip.Addr) SockAddr {
	var s SockAddr
	addr = addr.Unmap()
	if !addr.Is4() {
		return s
	}
	binary.NativeEndian.PutUint16(s[0:], syscall.AF_INET)
	ip := addr.As4()
	copy(s[4:], ip[:])
	return s
}

// Addr returns the IPv4 address, the zero Addr for any other family.
func (s SockAddr) Addr() netip.Addr {
	if binary.NativeEndian.Uint16(s[0:]) != syscall.AF_INET {
		return netip.Addr{}
	}
	return netip.AddrFrom4([4]byte(s[4:8]))
}

// SockAddrAt copies an address that the library handed out and that is still
// valid; the zero SockAddr for the address 0.
func SockAddrAt(address uintptr) SockAddr {
	var s SockAddr
	if address != 0 {
		CopyOut(s[:sockAddrInSize], address)
	}
	return s
}
