package cgo

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// SockAddr holds an adapter's address as the library takes it: a struct
// sockaddr_in or sockaddr_in6, without a port.
type SockAddr [sockAddrIn6Size]byte

const (
	sockAddrInSize  = 16
	sockAddrIn6Size = 28
)

// NewSockAddr makes the form of an address; the zero SockAddr for one that is
// not valid, or whose zone is no network interface.
func NewSockAddr(addr netip.Addr) (s SockAddr) {
	addr = addr.Unmap()
	switch scope, ok := scopeOf(addr.Zone()); {
	case addr.Is4():
		binary.NativeEndian.PutUint16(s[0:], syscall.AF_INET)
		copy(s[4:], addr.AsSlice())
	case addr.Is6() && ok:
		binary.NativeEndian.PutUint16(s[0:], syscall.AF_INET6)
		copy(s[8:], addr.AsSlice())
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
		return netip.AddrFrom16([16]byte(s[8:24])).WithZone(zoneOf(binary.NativeEndian.Uint32(s[24:])))
	}
	return netip.Addr{}
}

// scopeOf returns the index of the interface that a zone is: its name, or the number itself.
func scopeOf(zone string) (scope uint32, ok bool) {
	if zone == "" {
		return 0, true
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return uint32(i.Index), true
	}
	n, err := strconv.ParseUint(zone, 10, 32)
	return uint32(n), err == nil
}

// zoneOf is the reverse of scopeOf.
func zoneOf(scope uint32) string {
	if scope == 0 {
		return ""
	}
	if i, err := net.InterfaceByIndex(int(scope)); err == nil {
		return i.Name
	}
	return strconv.FormatUint(uint64(scope), 10)
}

// SockAddrAt copies an address that the library handed out and that is still
// valid; the zero SockAddr for the address 0.
func SockAddrAt(address uintptr) (s SockAddr) {
	if address == 0 {
		return s
	}
	CopyOut(s[:sockAddrInSize], address)
	if binary.NativeEndian.Uint16(s[0:]) == syscall.AF_INET6 {
		CopyOut(s[:], address)
	}
	return s
}
