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

// holdings are the process's use of system resources. Memory is in kilobytes.
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

// measure returns the holdings after a garbage collection.
func measure() (h holdings, err error) {
	runtime.GC()
	runtime.GC() // for memory that cleanups of the first have released
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

// Go keeps threads and memory that it once needed, and the C library keeps memory. Go needs a thread for each library
// call that does not return soon. A busy machine has more of them, and each thread has its own stack and C library
// memory.
const (
	moreThreads    = 64
	moreHeap       = 2 << 10
	moreResident   = 16 << 10
	residentThread = 512
)

// isMoreThan reports whether the process holds more than before, apart from what Go and C keep.
func (h holdings) isMoreThan(before holdings) bool {
	return h.objects > before.objects || h.descriptors > before.descriptors || h.pinned > before.pinned ||
		h.threads > before.threads+moreThreads || h.heap > before.heap+moreHeap ||
		h.resident > before.resident+moreResident+residentThread*max(h.threads-before.threads, 0)
}

// mustMeasureWithin returns the holdings as soon as they are no more than before, apart from what Go and C keep, or at
// the end of the time: threads of the library and of Go release some of it later.
func mustMeasureWithin(t *testing.T, before holdings) (h holdings) {
	t.Helper()
	for deadline := time.Now().Add(bound); ; time.Sleep(10 * time.Millisecond) {
		if h = mustMeasure(t); !h.isMoreThan(before) || time.Now().After(deadline) {
			return h
		}
	}
}

// growth describes the holdings before and now.
func growth(before, now holdings) string {
	return fmt.Sprintf("descriptors %d, then %d; threads %d, then %d; pinned memory %d, then %d KiB; heap %d, then %d KiB; that of the C library %d, then %d KiB; resident %d, then %d KiB",
		before.descriptors, now.descriptors, before.threads, now.threads, before.pinned, now.pinned, before.heap, now.heap,
		before.native, now.native, before.resident, now.resident)
}
