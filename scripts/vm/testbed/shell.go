package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"unsafe"

	"github.com/goudat/goudat/scripts/vm/wire"
)

// keyboard is the caller's terminal while a shell runs in the machine. It is nil in a run without a shell; its methods
// then do nothing. If standard input is not a terminal, they do what is possible.
type keyboard struct {
	mu    sync.Mutex
	saved *syscall.Termios // the modes to restore; nil: unchanged
}

func openKeyboard() *keyboard { return &keyboard{} }

// connect sends keyboard input, and changes of the window size, to the machine.
func (k *keyboard) connect(to *wire.Conn) {
	if k == nil {
		return
	}
	k.makeRaw()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	go func() {
		for {
			// The window may have changed while the machine was booting.
			if to.SendValue(wire.KindResize, k.size()) != nil {
				return
			}
			<-resized
		}
	}()
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := os.Stdin.Read(buffer)
			if n > 0 && to.Send(wire.KindInput, buffer[:n]) != nil {
				return
			}
			if err != nil {
				to.Send(wire.KindInputEnd, nil)
				return
			}
		}
	}()
}

// makeRaw passes every key to the machine, which has a terminal of its own.
func (k *keyboard) makeRaw() {
	var modes syscall.Termios
	if ioctl(os.Stdin, syscall.TCGETS, unsafe.Pointer(&modes)) != nil {
		return
	}
	raw := modes
	raw.Iflag &^= syscall.IGNBRK | syscall.BRKINT | syscall.PARMRK | syscall.ISTRIP | syscall.INLCR | syscall.IGNCR |
		syscall.ICRNL | syscall.IXON
	raw.Oflag &^= syscall.OPOST
	raw.Lflag &^= syscall.ECHO | syscall.ECHONL | syscall.ICANON | syscall.ISIG | syscall.IEXTEN
	raw.Cflag = raw.Cflag&^(syscall.CSIZE|syscall.PARENB) | syscall.CS8
	raw.Cc[syscall.VMIN], raw.Cc[syscall.VTIME] = 1, 0
	k.mu.Lock()
	defer k.mu.Unlock()
	if ioctl(os.Stdin, syscall.TCSETS, unsafe.Pointer(&raw)) == nil {
		k.saved = &modes
	}
}

// restore may be called any number of times.
func (k *keyboard) restore() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.saved != nil {
		ioctl(os.Stdin, syscall.TCSETS, unsafe.Pointer(k.saved))
		k.saved = nil
	}
}

// size returns the window size, or a usual one.
func (k *keyboard) size() wire.Size {
	var window struct{ rows, cols, x, y uint16 }
	if ioctl(os.Stdin, syscall.TIOCGWINSZ, unsafe.Pointer(&window)) != nil || window.rows == 0 || window.cols == 0 {
		return wire.Size{Rows: 24, Cols: 80}
	}
	return wire.Size{Rows: window.rows, Cols: window.cols}
}

func ioctl(f *os.File, request uintptr, argument unsafe.Pointer) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(argument))
	if errno != 0 {
		return errno
	}
	return nil
}
