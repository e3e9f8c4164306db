//go:build linux && amd64

package main

import (
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// processGroup is a machine's processes: the leader, whose number is the group's, and its children. User-Mode Linux has
// a process for each address space of the machine.
type processGroup struct {
	leader int

	mu    sync.Mutex
	ended bool // the leader's number may now be another process's
}

// signal sends a signal to all processes of the group. It fails when the leader has ended.
func (g *processGroup) signal(s syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return os.ErrProcessDone
	}
	return syscall.Kill(-g.leader, s)
}

// awaitEnd returns when the leader has ended and the others have been killed. The caller must still wait for the
// leader.
func (g *processGroup) awaitEnd() {
	const (
		pid    = 1         // P_PID of <sys/wait.h>
		noWait = 0x1000000 // WNOWAIT
	)
	var info [128]byte // siginfo_t
	for errno := syscall.EINTR; errno == syscall.EINTR; {
		_, _, errno = syscall.Syscall6(syscall.SYS_WAITID, pid, uintptr(g.leader), uintptr(unsafe.Pointer(&info)),
			syscall.WEXITED|noWait, 0, 0)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	syscall.Kill(-g.leader, syscall.SIGKILL)
}
