//go:build linux

package failures

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// kind is a kind of call that can fail, as in testdata/failing.c.
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

// control is what the child shares with the C library, as in testdata/failing.c.
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

// failingLibrary compiles the C library once.
var failingLibrary = sync.OnceValues(func() (content []byte, err error) {
	folder, err := os.MkdirTemp("", "failing")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	library := filepath.Join(folder, "failing.so")
	const compile = `exec gcc $CGO_CFLAGS $(pkg-config --cflags goudat) -shared -fPIC -Wall -Wextra -Werror -o "$1" testdata/failing.c testdata/shape.c -ldl`
	if out, err := exec.Command("sh", "-c", compile, "sh", library).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gcc: %w\n%s", err, out)
	}
	return os.ReadFile(library)
})
