package udat

import (
	"runtime"
	"strconv"

	"github.com/goudat/goudat/cgo"
)

// ErrNoNativeLibrary matches the error of every call in a program that was built
// without the native library: with CGO_ENABLED=0, which is what Go assumes when it
// compiles for another machine, or for anything but 64-bit Linux. The error's text
// says what to do. It also matches ErrNotImplemented and errors.ErrUnsupported.
//
// Such a program has no objects. What needs neither objects nor the library works:
// Strerror for the codes of the headers, WriteConfig, the methods of data.
var ErrNoNativeLibrary error = noNativeLibrary{}

type noNativeLibrary struct{}

func (noNativeLibrary) Error() string {
	return "udat: this program was built without the native library"
}

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
		Detail: "this program was built without the native library: " + remedy(runtime.GOOS, runtime.GOARCH, strconv.IntSize),
		Err:    ErrNoNativeLibrary,
	}
}

// remedy says how to build with the native library on a system.
func remedy(goos, goarch string, intSize int) string {
	switch {
	case goos != "linux":
		return "uDAPL needs Linux, and this program is for " + goos
	case intSize != 64:
		return "udat needs a 64-bit processor, and this program is for " + goarch
	}
	return "build it with CGO_ENABLED=1, a C compiler, and what goudat's scripts/native builds"
}
