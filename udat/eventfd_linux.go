//go:build !(386 || arm || mips || mipsle)

package udat

import (
	"os"
	"syscall"
)

// newEventFD makes an eventfd. Its readers block in the kernel, or else in Go's poller.
func newEventFD(blocking bool) (*os.File, int, error) {
	flags := uintptr(syscall.O_CLOEXEC)
	if !blocking {
		flags |= syscall.O_NONBLOCK
	}
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, flags, 0)
	if errno != 0 {
		return nil, 0, os.NewSyscallError("eventfd", errno)
	}
	return os.NewFile(fd, "eventfd"), int(fd), nil
}
