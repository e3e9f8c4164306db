//go:build !(386 || arm || mips || mipsle)

package udat

import (
	"math"
	"math/bits"
	"os"
	"syscall"
)

func mapMemory(size int) ([]byte, error) { return mapAnonymous(size, 0) }

// mapHugePages fails with EINVAL when the kernel has no pages of that size.
func mapHugePages(size, pageSize int) ([]byte, error) {
	if pageSize <= os.Getpagesize() || pageSize&(pageSize-1) != 0 {
		return nil, syscall.EINVAL
	}
	pages := pagesFor(size, pageSize)
	if pages > math.MaxInt/pageSize {
		return nil, syscall.ENOMEM
	}
	// Without its size the kernel would take pages of a default one.
	const sizeShift = 26 // MAP_HUGE_SHIFT
	return mapAnonymous(pages*pageSize, syscall.MAP_HUGETLB|bits.TrailingZeros(uint(pageSize))<<sizeShift)
}

func mapAnonymous(size, flags int) ([]byte, error) {
	return syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|flags)
}

// unmapMemory gives back what mapMemory or mapHugePages gave, whole: that cannot fail.
func unmapMemory(mapping []byte) { _ = syscall.Munmap(mapping) }
