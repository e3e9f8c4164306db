package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/goudat/goudat/scripts/vm/wire"
)

// port is a virtio-serial port, or a terminal. Reads and writes block in the kernel: the Go runtime's poller does not
// work with the driver's notifications.
type port int

func (p port) Read(b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(p), b)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (p port) Write(b []byte) (int, error) {
	for {
		n, err := syscall.Write(int(p), b)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// openPort waits for the virtio-serial port to appear: the driver learns its name from the host some time after the module is
// loaded, and nothing announces it in a machine without udev.
func openPort() (port, error) {
	const name = wire.PortName
	var fd int
	err := poll(func() error {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return err
		}
		for _, file := range names {
			text, err := os.ReadFile(file)
			if err != nil || strings.TrimSpace(string(text)) != name {
				continue
			}
			fd, err = syscall.Open("/dev/"+filepath.Base(filepath.Dir(file)), syscall.O_RDWR|syscall.O_CLOEXEC, 0)
			return err
		}
		return fmt.Errorf("there is no virtio-serial port %s", name)
	})
	return port(fd), err
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

// patience bounds each wait for the kernel. It is long, as the host may be busy with other things.
const patience = time.Minute

// poll calls ready until it returns nil, and returns its last error when that takes longer than patience.
func poll(ready func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s: %w", patience, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
