//go:build !(386 || arm || mips || mipsle)

package udat

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

// checkFileLimit fails when hardly a file can be opened any more: a provider
// that finds no room for the last of its own takes the process down.
func checkFileLimit(op string) error {
	const enough = 32
	files := make([]int, 0, enough)
	defer func() {
		for _, fd := range files {
			syscall.Close(fd)
		}
	}()
	for range enough {
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return explained(op, classError|Return(ErrInsufficientResources), fmt.Errorf(
				"%w: an adapter needs room for %d files: %w: raise it (ulimit -n), or close files", ProblemFileLimit, enough, err))
		}
		files = append(files, fd)
	}
	return nil
}
