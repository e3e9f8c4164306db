//go:build !linux || !cgo || 386 || arm || mips || mipsle

package main

// deviceLimits returns nothing: there is no C library.
func deviceLimits(string) string { return "" }
