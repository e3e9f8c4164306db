package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"github.com/goudat/goudat/scripts/vm/wire"
)

// userMode reports whether the kernel is User-Mode Linux, a process of the host. It has the host's files without a
// server, and a terminal for the control port.
var userMode = os.Getenv(wire.UserModeVariable) != ""

func userModeRoot(target string) mountPoint {
	return mountPoint{"root", target, "hostfs", syscall.MS_RDONLY, "/"}
}

func userModeShare(share wire.Share) mountPoint {
	return mountPoint{share.Tag, newRoot + share.Path, "hostfs", 0, share.Path}
}

// openControlTerminal opens the control port of User-Mode Linux as a terminal that changes no byte.
func openControlTerminal() (port, error) {
	name := fmt.Sprintf("/dev/tty%d", wire.ControlTerminal)
	fd, err := syscall.Open(name, syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open the control port %s: %w", name, err)
	}
	raw := syscall.Termios{Cflag: syscall.CS8 | syscall.CREAD | syscall.CLOCAL}
	raw.Cc[syscall.VMIN] = 1
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TCSETS, uintptr(unsafe.Pointer(&raw))); errno != 0 {
		return 0, fmt.Errorf("make the control port %s raw: %w", name, errno)
	}
	return port(fd), nil
}
