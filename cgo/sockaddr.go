package cgo

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// SockAddr holds an adapter's address as the library takes it: a struct
// sockaddr_in or sockaddr_in6.
type SockAddr [28]byte

const sockAddrInSize = 16

// NewSockAddr makes the form of an address, without a port; the zero SockAddr
// for one that is not valid, or has a zone that is none.
func NewSockAddr(addr netip.Addr) SockAddr {
	var s SockAddr
	addr = addr.Unmap()
	switch {
	case addr.Is4():
		binary.NativeEndian.PutUint16(s[0:], syscall.AF_INET)
		ip := addr.As4()
		copy(s[4:], ip[:])
	case addr.Is6():
		var scope uint32
		if zone := addr.Zone(); zone != "" {
			if i, err := net.InterfaceByName(zone); err == nil {
				scope = uint32(i.Index)
			} else if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
				scope = uint32(n)
			} else {
				return s
			}
		}
		binary.NativeEndian.PutUint16(s[0:], syscall.AF_INET6)
		ip := addr.As16()
		copy(s[8:], ip[:])
		binary.NativeEndian.PutUint32(s[24:], scope)
	}
	return s
}

// Addr returns the address, the zero Addr for any other family.
func (s SockAddr) Addr() netip.Addr {
	switch binary.NativeEndian.Uint16(s[0:]) {
	case syscall.AF_INET:
		return netip.AddrFrom4([4]byte(s[4:8]))
	case syscall.AF_INET6:
		addr := netip.AddrFrom16([16]byte(s[8:24]))
		if scope := binary.NativeEndian.Uint32(s[24:]); scope != 0 {
			zone := strconv.FormatUint(uint64(scope), 10)
			if i, err := net.InterfaceByIndex(int(scope)); err == nil {
				zone = i.Name
			}
			addr = addr.WithZone(zone)
		}
		return addr
	}
	return netip.Addr{}
}

// SockAddrAt copies an address that the library handed out and that is still
// valid; the zero SockAddr for the address 0.
func SockAddrAt(address uintptr) SockAddr {
	var s SockAddr
	if address == 0 {
		return s
	}
	CopyOut(s[:sockAddrInSize], address)
	if binary.NativeEndian.Uint16(s[0:]) == syscall.AF_INET6 {
		CopyOut(s[:], address)
	}
	return s
}
