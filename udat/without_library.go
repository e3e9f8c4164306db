package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
)

// ErrNoNativeLibrary matches the error of every call in a program that was built
// without the native library: with CGO_ENABLED=0, which is what Go assumes when it
// compiles for another machine, or for anything but 64-bit Linux. The error's text
// says what to do. It also matches ErrNotImplemented and errors.ErrUnsupported.
//
// Such a program has no objects. What needs neither objects nor the library works:
// Strerror for the codes of the headers, device.WriteConfig, the methods of data.
var ErrNoNativeLibrary = device.ErrNoNativeLibrary

// needLibrary fails in a build without the native library. Calls that could do
// something of their own before they reach it begin with this.
func needLibrary(op string) error {
	if !cgo.Available {
		return withoutLibrary(op)
	}
	return nil
}

func withoutLibrary(op string) error {
	return &Error{
		Op:     op,
		Return: classError | Return(ErrNotImplemented),
		Err:    ErrNoNativeLibrary,
	}
}
