//go:build linux && cgo && !(386 || arm || mips || mipsle)

package main

/*
#cgo !goudat_static pkg-config: goudat
#cgo goudat_static pkg-config: goudat-static
#include <stdlib.h>

// Returns words about a device, in lines, for the caller to free; NULL or none if it cannot be opened.
char *device_limits(const char *name);
*/
import "C"

import "unsafe"

// deviceLimits returns what a device can do, as words of a shape; nothing if it cannot be opened.
func deviceLimits(name string) string {
	native := C.CString(name)
	defer C.free(unsafe.Pointer(native))
	words := C.device_limits(native)
	defer C.free(unsafe.Pointer(words))
	return C.GoString(words)
}
