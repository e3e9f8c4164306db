//go:build !linux || 386 || arm || mips || mipsle

package udat

import (
	"math"
	"net/netip"
	"os"
)

// What the package needs of 64-bit Linux. Elsewhere there is no native library, so
// that nothing of this is called.

func newEventFD(bool) (*os.File, int, error) { return nil, 0, ErrNoNativeLibrary }
func mapMemory(int) ([]byte, error)          { return nil, ErrNoNativeLibrary }
func mapHugePages(int, int) ([]byte, error)  { return nil, ErrNoNativeLibrary }
func unmapMemory([]byte)                     {}
func faults(uint64, uint64) bool             { return false }
func lockableMemory() uint64                 { return math.MaxUint64 }
func filesProblem() error                    { return nil }
func credentialsProblem(string) error        { return nil }
func tryAddress(netip.Addr) error            { return ErrNoNativeLibrary }
