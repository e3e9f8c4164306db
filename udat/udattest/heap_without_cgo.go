//go:build !linux || !cgo || 386 || arm || mips || mipsle

package udattest

// NativeHeap returns 0: there is no C library.
func NativeHeap() int { return 0 }
