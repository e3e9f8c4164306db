//go:build !(386 || arm || mips || mipsle)

package udat

import (
	"math"
	"math/bits"
	"net"
	"net/netip"
	"os"
	"syscall"
)

// tryAddress returns why the kernel would send nothing to an address, nil if that is not known. It
// sends nothing either.
func tryAddress(address netip.Addr) error {
	const anyPort = 1
	family, to := syscall.AF_INET, syscall.Sockaddr(nil)
	if address.Is4() {
		to = &syscall.SockaddrInet4{Port: anyPort, Addr: address.As4()}
	} else {
		family = syscall.AF_INET6
		six := &syscall.SockaddrInet6{Port: anyPort, Addr: address.As16()}
		if i, err := net.InterfaceByName(address.Zone()); err == nil {
			six.ZoneId = uint32(i.Index)
		}
		if six.ZoneId == 0 && address.IsLinkLocalUnicast() {
			return nil // the adapter's network, which the kernel does not know
		}
		to = six
	}
	fd, err := syscall.Socket(family, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	return syscall.Connect(fd, to)
}

// mapMemory returns whole pages.
func mapMemory(size int) ([]byte, error) { return mapPages(size, os.Getpagesize(), 0) }

// mapHugePages fails with EINVAL when the kernel has no pages of that size.
func mapHugePages(size, pageSize int) ([]byte, error) {
	if pageSize <= os.Getpagesize() || pageSize&(pageSize-1) != 0 {
		return nil, syscall.EINVAL
	}
	// Without its size the kernel would take pages of a default one.
	const sizeShift = 26 // MAP_HUGE_SHIFT
	return mapPages(size, pageSize, syscall.MAP_HUGETLB|bits.TrailingZeros(uint(pageSize))<<sizeShift)
}

func mapPages(size, pageSize, flags int) ([]byte, error) {
	pages := (size-1)/pageSize + 1
	if pages > math.MaxInt/pageSize {
		return nil, syscall.ENOMEM
	}
	return syscall.Mmap(-1, 0, pages*pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|flags)
}

// unmapMemory unmaps all that mapMemory or mapHugePages has returned: that cannot fail.
func unmapMemory(mapping []byte) { _ = syscall.Munmap(mapping) }
