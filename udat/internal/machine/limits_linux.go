//go:build !(386 || arm || mips || mipsle)

package machine

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"
)

// lockableMemory returns the most bytes that this process may lock, which is
// unlimited with the capability for it in the host's user namespace, and if that is not known.
func lockableMemory() uint64 {
	const (
		rlimitMemlock = 8 // RLIMIT_MEMLOCK, which package syscall lacks
		capIPCLock    = 14
	)
	var limit syscall.Rlimit
	capabilities, err := strconv.ParseUint(processStatus("CapEff"), 16, 64)
	if err != nil || syscall.Getrlimit(rlimitMemlock, &limit) != nil || capabilities&(1<<capIPCLock) != 0 && inHostUsers() {
		return math.MaxUint64
	}
	return limit.Cur
}

// inHostUsers reports whether the user namespace is the host's, as far as can be told.
func inHostUsers() bool {
	var inside, outside, count uint64
	text, err := os.ReadFile("/proc/self/uid_map")
	n, _ := fmt.Sscan(string(text), &inside, &outside, &count)
	return err != nil || n == 3 && inside == 0 && outside == 0 && count == math.MaxUint32
}

// FileLimit says that this process cannot open so many more files, nil if it can.
func FileLimit(more int) error {
	for range more {
		fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC) // which needs no file system
		if err != nil {
			return TooManyFiles(err, fmt.Sprintf("%d more cannot be opened", more))
		}
		defer syscall.Close(fd)
	}
	return nil
}

// Duplicate returns another descriptor of the same file, which child processes do not inherit.
func Duplicate(fd int) (uintptr, error) {
	own, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return 0, errno
	}
	return own, nil
}

// faults reports whether some of whole, mapped pages cannot be read, before Linux 5.14 never.
func faults(address, size uint64) bool {
	const populateRead = 22 // MADV_POPULATE_READ
	_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, uintptr(address), uintptr(size), populateRead)
	return errno == syscall.EFAULT
}
