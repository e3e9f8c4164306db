//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/memory.h"

#cgo noescape goudat_copy_out
#cgo nocallback goudat_copy_out
*/
import "C"

import "unsafe"

// CopyOut fills destination from C memory at source, an address that the
// library handed out and that is still valid.
func CopyOut(destination []byte, source uintptr) {
	if len(destination) == 0 {
		return
	}
	C.goudat_copy_out((*C.uint8_t)(unsafe.SliceData(destination)), C.uintptr_t(source), C.uint64_t(len(destination)))
}
