package udat

import (
	"errors"
	"time"

	"github.com/goudat/goudat/udat/internal/lockorder"
)

// busyWithin is far longer than the kernel takes for a command, also when the
// command's thread does not run for a while.
var busyWithin = time.Second // shorter in tests

const (
	firstBusyPause   = time.Millisecond
	longestBusyPause = 64 * time.Millisecond
)

// whileBusy calls free, which frees native EVDs, again for a while after an internal
// error: the kernel refuses, with EBUSY, to destroy a completion queue while another
// command for it is under way, such as that by which a thread of the library asks
// to be notified of the next completion, and then the library leaves the EVD as it
// was, but disabled. The caller holds no lock that anybody else may need meanwhile.
func whileBusy(free func() error) error {
	start := time.Now()
	for pause := firstBusyPause; ; pause = min(2*pause, longestBusyPause) {
		err := free()
		if !errors.Is(err, ErrInternalError) || time.Since(start) >= busyWithin {
			return err
		}
		mayWait()
		time.Sleep(pause)
	}
}

// busyEVDs are EVDs of the binding's own that nobody uses any more, but that could
// not be freed when that came about.
type busyEVDs struct {
	mu   lockorder.Mutex[lockorder.Last]
	list []*EVD
}

func (b *busyEVDs) add(evd *EVD) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, evd)
}

// free frees those that are not busy any more, at the latest when the adapter is
// closed. It returns the error of one that is. The caller keeps the adapter open.
func (b *busyEVDs) free() (err error) {
	b.mu.Lock()
	evds := b.list
	b.list = nil
	b.mu.Unlock()
	for _, evd := range evds {
		if failed := evd.tryFree(); failed != nil {
			err = failed
			b.add(evd)
		}
	}
	return err
}
