package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

// processorSet has a bit for each processor of the host, as system calls take it. It has room for the most processors
// that Linux supports.
type processorSet [8192 / 64]uint64

func (s *processorSet) add(processor int)      { s[processor/64] |= 1 << (processor % 64) }
func (s *processorSet) has(processor int) bool { return s[processor/64]&(1<<(processor%64)) != 0 }

// allowedProcessors returns the processors that this process may use: none if the system does not tell.
func allowedProcessors() (allowed processorSet) {
	syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(allowed), uintptr(unsafe.Pointer(&allowed)))
	return allowed
}

// claimedProcessors are processors of the host that no other machine of the same user has claimed.
//
// The processes and threads of User-Mode Linux take turns: each wakes the next, and then sleeps. Waking one on another
// processor of the host, which sleeps, can take six times as long, and the host's scheduler does not avoid it. So a machine
// stays on few processors. The claims keep machines from all choosing the same ones.
type claimedProcessors struct {
	set   processorSet
	locks []*os.File // end with this process, if not before
}

// claimProcessors claims processors by locks on files in a folder. It returns nil if there are too few that are free:
// the machine then runs wherever the scheduler puts it.
func claimProcessors(folder string, count int) *claimedProcessors {
	allowed, claimed := allowedProcessors(), &claimedProcessors{}
	for processor := 0; processor < 64*len(allowed) && len(claimed.locks) < count; processor++ {
		if !allowed.has(processor) {
			continue
		}
		if lock := tryLock(filepath.Join(folder, fmt.Sprintf("processor-%d.lock", processor))); lock != nil {
			claimed.locks = append(claimed.locks, lock)
			claimed.set.add(processor)
		}
	}
	if len(claimed.locks) < count {
		claimed.release()
		return nil
	}
	return claimed
}

// tryLock returns nil if another has the lock, or there cannot be one.
func tryLock(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		f.Close()
		return nil
	}
	return f
}

// bindThread keeps the calling thread, and the processes that it starts, to the processors.
func (c *claimedProcessors) bindThread() {
	if c != nil {
		syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(c.set), uintptr(unsafe.Pointer(&c.set)))
	}
}

func (c *claimedProcessors) release() {
	if c == nil {
		return
	}
	for _, lock := range c.locks {
		lock.Close()
	}
}
