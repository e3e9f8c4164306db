//go:build !(386 || arm || mips || mipsle)

package udat

import (
	"os"
	"syscall"
)

// newEventFD makes an eventfd that Go's poller can wait for.
func newEventFD() (*os.File, int, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, 0, os.NewSyscallError("eventfd", errno)
	}
	return os.NewFile(fd, "eventfd"), int(fd), nil
}
