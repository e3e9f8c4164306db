//go:build !linux || !cgo || 386 || arm || mips || mipsle

package cgo

// Available reports whether the build includes the native library. If not, each function fails with NotImplemented and
// calls nothing.
const Available = false

// withoutLibrary is what the functions of without_cgo.go return.
const withoutLibrary = ClassError | Return(NotImplemented)
