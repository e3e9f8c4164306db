//go:build linux

package failures

import (
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// kind is a kind of call that can fail, as in between/testdata/failing.c.
type kind int

const (
	verbs kind = iota
	releases
	posts
	polls
	cm
	sockets
	wakeups
	threads
	memory
	kinds
)

var kindNames = [kinds]string{"verbs", "releases", "posts", "polls", "cm", "sockets", "wakeups", "threads", "memory"}

func (k kind) String() string { return kindNames[k] }

// controlVariable names the file by which a child tells the C library which call is to fail.
const controlVariable = "UDAT_TEST_FAILURE"

// control is what the child shares with the C library, as in between/testdata/failing.c.
type control struct {
	kind    int32
	nth     atomic.Int32
	calls   [kinds]atomic.Int32
	threads atomic.Int32
	objects atomic.Int32
	pieces  atomic.Int32
	failed  [100]byte
}

func mapControl(name string) (*control, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	shared, err := syscall.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(control{})), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*control)(unsafe.Pointer(&shared[0])), nil
}

// fail has the nth call of the kind fail, of those that come from now on.
func (c *control) fail(k kind, nth int) {
	for i := range c.calls {
		c.calls[i].Store(0)
	}
	c.kind, c.failed = int32(k), [100]byte{}
	c.nth.Store(int32(nth))
}

// stop has no more calls fail. It returns how many there were, and which has failed, if any.
func (c *control) stop() (calls [kinds]int, failed string) {
	c.nth.Store(0)
	for i := range calls {
		calls[i] = int(c.calls[i].Load())
	}
	failed, _, _ = strings.Cut(string(c.failed[:]), "\x00")
	return calls, failed
}
