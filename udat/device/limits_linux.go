//go:build !(386 || arm || mips || mipsle)

package device

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"
)

// lockableMemory returns the most bytes that this process may lock, which is
// unlimited with the capability for it.
func lockableMemory() uint64 {
	const (
		rlimitMemlock = 8 // RLIMIT_MEMLOCK, which package syscall lacks
		capIPCLock    = 14
	)
	var limit syscall.Rlimit
	capabilities, _ := strconv.ParseUint(processStatus("CapEff"), 16, 64)
	if syscall.Getrlimit(rlimitMemlock, &limit) != nil || capabilities&(1<<capIPCLock) != 0 {
		return math.MaxUint64
	}
	return limit.Cur
}

// filesProblem says that hardly a file can be opened any more, nil if they can.
func filesProblem() error {
	const enough = 32 // for any adapter
	files := make([]int, 0, enough)
	defer func() {
		for _, fd := range files {
			syscall.Close(fd)
		}
	}()
	for range enough {
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("%w: an adapter needs room for up to %d files: %w: raise it (ulimit -n), or close files", ProblemFileLimit, enough, err)
		}
		files = append(files, fd)
	}
	return nil
}

// faults reports whether some of whole, mapped pages cannot be read, before Linux 5.14
// never.
func faults(address, size uint64) bool {
	const populateRead = 22 // MADV_POPULATE_READ
	_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, uintptr(address), uintptr(size), populateRead)
	return errno == syscall.EFAULT
}
