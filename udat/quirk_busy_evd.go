package udat

import (
	"time"

	"github.com/goudat/goudat/cgo"
)

// busyWithin is far longer than the kernel takes for a command, also when the
// command's thread does not run for a while.
var busyWithin = time.Second // shorter in tests

const (
	firstBusyPause   = time.Millisecond
	longestBusyPause = 64 * time.Millisecond
)

// freeEVD frees a native EVD. It tries again for a while after an internal error:
// the kernel refuses, with EBUSY, to destroy a completion queue while another
// command for it is under way, such as that by which a thread of the library asks
// to be notified of the next completion, and then the library leaves the EVD as it
// was, but disabled.
func freeEVD(handle cgo.EVDHandle) cgo.Return {
	start := time.Now()
	for pause := firstBusyPause; ; pause = min(2*pause, longestBusyPause) {
		r := cgo.EVDFree(handle)
		if r.Type() != cgo.InternalError || time.Since(start) >= busyWithin {
			return r
		}
		time.Sleep(pause)
	}
}
