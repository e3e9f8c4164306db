package udat

import (
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
)

// A time-out is never shorter in the library, which counts microseconds.
func TestTimeoutOfLibrary(t *testing.T) {
	for timeout, want := range map[time.Duration]uint32{
		1:                                 1,
		time.Microsecond:                  1,
		time.Microsecond + 1:              2,
		longestTimeout + time.Microsecond: cgo.TimeoutInfinite - 1,
		TimeoutInfinite:                   cgo.TimeoutInfinite,
	} {
		if got := microseconds(timeout); got != want {
			t.Errorf("%v is %d µs, want %d", timeout, got, want)
		}
	}
}
