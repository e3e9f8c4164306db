//go:build !(386 || arm || mips || mipsle)

package udat

import (
	"net/netip"
	"syscall"
)

// tryAddress returns why the kernel would send nothing to an address. It sends nothing either.
func tryAddress(address netip.Addr) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	const anyPort = 1
	return syscall.Connect(fd, &syscall.SockaddrInet4{Port: anyPort, Addr: address.As4()})
}
