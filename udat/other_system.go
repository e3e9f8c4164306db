//go:build !linux || 386 || arm || mips || mipsle

package udat

import "net/netip"

// What the package needs of 64-bit Linux. Nothing calls it where there is no native library.

func mapMemory(int) ([]byte, error)         { return nil, ErrNoNativeLibrary }
func mapHugePages(int, int) ([]byte, error) { return nil, ErrNoNativeLibrary }
func unmapMemory([]byte)                    {}
func tryAddress(netip.Addr) error           { return ErrNoNativeLibrary }
