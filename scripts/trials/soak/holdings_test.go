//go:build linux

package soak

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/trials/internal/process"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// holdings are the process's use of system resources. Memory is in kilobytes.
type holdings struct {
	process.Holdings
	objects int // of package udat
	heap    int // of Go, in use
	native  int // of C, in use
}

func (h holdings) String() string {
	return fmt.Sprintf("%d objects, %d descriptors, %d threads, %d KiB pinned, %d KiB of heap, %d KiB of the C library's, %d KiB resident",
		h.objects, h.Descriptors, h.Threads, h.Pinned, h.heap, h.native, h.Resident)
}

// measure returns the holdings after a garbage collection.
func measure(t *testing.T) (h holdings) {
	t.Helper()
	runtime.GC()
	runtime.GC() // for memory that cleanups of the first have released
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	h.heap = int(stats.HeapAlloc >> 10)
	h.native = udattest.NativeHeap() >> 10
	h.objects = len(udat.Living())
	var err error
	if h.Holdings, err = process.Measure(); err != nil {
		t.Error(err)
	}
	return h
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
	return h.objects > before.objects || h.Descriptors > before.Descriptors || h.Pinned > before.Pinned ||
		h.Threads > before.Threads+moreThreads || h.heap > before.heap+moreHeap ||
		h.Resident > before.Resident+moreResident+residentThread*max(h.Threads-before.Threads, 0)
}

// measureWithin returns the holdings as soon as they are no more than before, apart from what Go and C keep, or at
// the end of the time: threads of the library and of Go release some of it later.
func measureWithin(t *testing.T, before holdings) (h holdings) {
	t.Helper()
	for deadline := time.Now().Add(bound); ; time.Sleep(10 * time.Millisecond) {
		if h = measure(t); !h.isMoreThan(before) || time.Now().After(deadline) {
			return h
		}
	}
}

// growth describes the holdings before and now.
func growth(before, now holdings) string {
	return fmt.Sprintf("descriptors %d, then %d; threads %d, then %d; pinned memory %d, then %d KiB; heap %d, then %d KiB; that of the C library %d, then %d KiB; resident %d, then %d KiB",
		before.Descriptors, now.Descriptors, before.Threads, now.Threads, before.Pinned, now.Pinned, before.heap, now.heap,
		before.native, now.native, before.Resident, now.Resident)
}
