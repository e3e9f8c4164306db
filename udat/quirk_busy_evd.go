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

// whileBusy calls free, which frees native EVDs, and calls it again for up to busyWithin
// while it returns an internal error. The kernel refuses, with EBUSY, to destroy a
// completion queue while another command for it is in progress, such as that by which a
// thread of the library asks to be notified of the next completion. The library then
// leaves the EVD as it was, but disabled. The caller must not hold a lock that others may
// need meanwhile.
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

// busyEVDs holds EVDs of the binding's own that are not used any more and have still to
// be freed, since they may be busy.
type busyEVDs struct {
	mu   lockorder.Mutex[lockorder.Last]
	list []*EVD
}

func (b *busyEVDs) add(evd *EVD) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, evd)
}

// free frees the EVDs that are not busy. It returns the error of one that is. Closing the
// adapter calls it last. The caller keeps the adapter open.
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
