//go:build !(386 || arm || mips || mipsle)

package notify

import "syscall"

// duplicate returns another descriptor of the same file, which child processes do not inherit.
func duplicate(fd int) (uintptr, error) {
	own, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return 0, errno
	}
	return own, nil
}
