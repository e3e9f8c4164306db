//go:build !(386 || arm || mips || mipsle)

package udat

import (
	"math"
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
