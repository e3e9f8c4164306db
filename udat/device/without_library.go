package device

import (
	"runtime"
	"strconv"

	"github.com/goudat/goudat/udat/internal/problem"
)

// ErrNoNativeLibrary is the error in a program that was built without the native library: with
// CGO_ENABLED=0, which is what Go assumes when it compiles for another machine, or for anything but
// 64-bit Linux. The text says what to do.
var ErrNoNativeLibrary error = noNativeLibrary{}

type noNativeLibrary struct{}

func (noNativeLibrary) Error() string {
	return "this program was built without the native library: " + remedy(runtime.GOOS, runtime.GOARCH, strconv.IntSize)
}

// remedy says how to build with the native library on a system.
func remedy(goos, goarch string, intSize int) string {
	switch {
	case goos != "linux":
		return "uDAPL needs Linux, and this program is for " + goos
	case intSize != 64:
		return "udat needs a 64-bit processor, and this program is for " + goarch
	}
	return "build it with CGO_ENABLED=1, a C compiler, and what this builds: " + problem.NativeCommand
}
