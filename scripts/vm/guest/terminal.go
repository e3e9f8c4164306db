package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"github.com/goudat/goudat/scripts/vm/wire"
)

// endOfInput is the character that ends the input of a terminal.
const endOfInput = 4

func openTerminal(size wire.Size) (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	var number, unlocked uint32
	if err := terminalIoctl(master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked)); err != nil {
		return nil, nil, err
	}
	if err := terminalIoctl(master, syscall.TIOCGPTN, unsafe.Pointer(&number)); err != nil {
		return nil, nil, err
	}
	if err := resizeTerminal(master, size); err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	return master, slave, err
}

func resizeTerminal(f *os.File, size wire.Size) error {
	window := struct{ rows, cols, x, y uint16 }{size.Rows, size.Cols, 0, 0}
	return terminalIoctl(f, syscall.TIOCSWINSZ, unsafe.Pointer(&window))
}

func terminalIoctl(f *os.File, request uintptr, argument unsafe.Pointer) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument))
	})
	if err != nil {
		return err
	}
	if errno != 0 {
		return fmt.Errorf("terminal request %#x: %w", request, errno)
	}
	return nil
}
