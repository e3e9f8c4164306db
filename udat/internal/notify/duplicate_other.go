//go:build !linux || 386 || arm || mips || mipsle

package notify

import "errors"

// duplicate is called on 64-bit Linux alone: elsewhere there is no native library.
func duplicate(int) (uintptr, error) { return 0, errors.ErrUnsupported }
