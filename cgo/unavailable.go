//go:build !linux || !cgo || 386 || arm || mips || mipsle

package cgo

// Available tells whether the native library is in the build. Where it is not,
// each function fails with NotImplemented and calls nothing.
const Available = false

// withoutLibrary is what the functions of without_cgo.go return.
const withoutLibrary = ClassError | Return(NotImplemented)
