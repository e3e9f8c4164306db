package machine

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goudat/goudat/udat/internal/problem"
)

// AddressProblem says why programs cannot use an address of a network interface, or any of its
// addresses if that is the zero Addr; nil if they can.
func AddressProblem(i *net.Interface, address netip.Addr) error {
	addresses, unsettled := Addresses(i), unsettledAddresses(i.Name)
	if address.IsValid() {
		addresses = []netip.Addr{address}
	}
	switch {
	case slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !slices.Contains(unsettled, a) }):
		return nil
	case len(addresses) > 0 && i.Flags&net.FlagUp == 0:
		return nil // which is what is wrong with them
	case len(addresses) == 0:
		return fmt.Errorf("%w: the network interface %s has none, and the CMA provider needs one: ip address add ADDRESS/BITS dev %[2]s", problem.NoAddress, i.Name)
	}
	return fmt.Errorf("%w: the kernel is looking for another machine that has the address %v of %s, or has found one: try again in some seconds, or see ip -6 address show dev %[3]s",
		problem.NoAddress, addresses[0], i.Name)
}

// unsettledAddresses returns the IPv6 addresses of a network interface of which the kernel is
// looking for a duplicate, or has found one.
func unsettledAddresses(name string) (addresses []netip.Addr) {
	const tentative, duplicate = 0x40, 0x08 // IFA_F_TENTATIVE, IFA_F_DADFAILED
	list, _ := os.ReadFile("/proc/thread-self/net/if_inet6")
	for line := range strings.Lines(string(list)) {
		// Address, and in hexadecimal index, bits, scope and flags, and the interface.
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[5] != name {
			continue
		}
		raw, _ := hex.DecodeString(fields[0])
		address, ok := netip.AddrFromSlice(raw)
		if flags, err := strconv.ParseUint(fields[4], 16, 32); ok && err == nil && flags&(tentative|duplicate) != 0 {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// InterfacesWith returns the network interfaces that have an address: those of its zone, if it has
// one.
func InterfacesWith(address netip.Addr) (with []net.Interface, err error) {
	interfaces, err := net.Interfaces()
	for _, i := range interfaces {
		inZone := address.Zone() == "" || address.Zone() == i.Name || address.Zone() == strconv.Itoa(i.Index)
		if inZone && slices.Contains(Addresses(&i), address.WithZone("").Unmap()) {
			with = append(with, i)
		}
	}
	return with, err
}

// Addresses returns the addresses of a network interface, as far as they can be read.
func Addresses(i *net.Interface) (addresses []netip.Addr) {
	addrs, _ := i.Addrs()
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			addresses = append(addresses, prefix.Addr())
		}
	}
	return addresses
}
