//go:build !linux || 386 || arm || mips || mipsle

package machine

import (
	"errors"
	"math"
)

// What the package needs of 64-bit Linux. Elsewhere there is no native library, so
// that nothing of this is called.

func faults(uint64, uint64) bool     { return false }
func lockableMemory() uint64         { return math.MaxUint64 }
func FileLimit(int) error            { return nil }
func Credentials(string) error       { return nil }
func Duplicate(int) (uintptr, error) { return 0, errors.ErrUnsupported }
