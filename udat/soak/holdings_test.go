//go:build linux

package soak

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// holdings are what the process has of the system's resources. Memory is in
// kilobytes.
type holdings struct {
	objects     int // of package udat
	descriptors int
	threads     int
	pinned      int
	heap        int // of Go, in use
	native      int // of C, in use
	resident    int
}

func (h holdings) String() string {
	return fmt.Sprintf("%d objects, %d descriptors, %d threads, %d KiB pinned, %d KiB of heap, %d KiB of the C library's, %d KiB resident",
		h.objects, h.descriptors, h.threads, h.pinned, h.heap, h.native, h.resident)
}

func mustMeasure(t *testing.T) holdings {
	t.Helper()
	h, err := measure()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// measure gives what is held when the garbage is collected.
func measure() (h holdings, err error) {
	runtime.GC()
	runtime.GC() // what cleanups of the first have let go
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	h.heap = int(stats.HeapAlloc >> 10)
	h.native = udattest.NativeHeap() >> 10
	h.objects = len(udat.Living())
	for folder, n := range map[string]*int{"/proc/self/fd": &h.descriptors, "/proc/self/task": &h.threads} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return h, err
		}
		*n = len(entries)
	}
	status, err := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(status) {
		for prefix, n := range map[string]*int{"VmPin:": &h.pinned, "VmRSS:": &h.resident} {
			if rest, found := strings.CutPrefix(string(line), prefix); found {
				fmt.Sscan(rest, n)
			}
		}
	}
	return h, err
}

// Go keeps the threads and the memory that it once needed, and so does the C
// library with memory. Go needs a thread for each call in the library that does
// not return soon, of which there are more on a busy machine, and each thread has
// a stack and memory of the C library of its own.
const (
	moreThreads    = 64
	moreHeap       = 2 << 10
	moreResident   = 16 << 10
	residentThread = 512
)

// isMoreThan tells whether more is held than was, but for what is kept for good.
func (h holdings) isMoreThan(before holdings) bool {
	return h.objects > before.objects || h.descriptors > before.descriptors || h.pinned > before.pinned ||
		h.threads > before.threads+moreThreads || h.heap > before.heap+moreHeap ||
		h.resident > before.resident+moreResident+residentThread*max(h.threads-before.threads, 0)
}

// mustMeasureWithin gives what is held once that is no more than before, but for
// what is kept for good, or at last: threads of the library, and of Go, give some
// of it back in their own time.
func mustMeasureWithin(t *testing.T, before holdings) (h holdings) {
	t.Helper()
	for deadline := time.Now().Add(bound); ; time.Sleep(10 * time.Millisecond) {
		if h = mustMeasure(t); !h.isMoreThan(before) || time.Now().After(deadline) {
			return h
		}
	}
}

// growth tells what is held of what there was before.
func growth(before, now holdings) string {
	return fmt.Sprintf("descriptors %d, then %d; threads %d, then %d; pinned memory %d, then %d KiB; heap %d, then %d KiB; that of the C library %d, then %d KiB; resident %d, then %d KiB",
		before.descriptors, now.descriptors, before.threads, now.threads, before.pinned, now.pinned, before.heap, now.heap,
		before.native, now.native, before.resident, now.resident)
}
