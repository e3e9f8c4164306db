package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// stock is what the process has.
type stock struct {
	resident, heap int // bytes; heap is what Go's collector found in use
	threads, files int
}

// takeStock collects garbage first. What the collector does not give back to the system stays in the resident size, of
// which /proc/self/status would have an estimate only.
func takeStock() stock {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return stock{resident: lineOf("/proc/self/smaps_rollup", "Rss") << 10, heap: int(m.HeapAlloc), threads: threads(), files: descriptors()}
}

func (s stock) since(before stock) stock {
	return stock{resident: s.resident - before.resident, heap: s.heap - before.heap, threads: s.threads, files: s.files - before.files}
}

func threads() int { return lineOf("/proc/self/status", "Threads") }

// descriptors gives how many are open.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries) - 1 // that of the folder
}

// lineOf gives the number of a line of a file, 0 if there is none.
func lineOf(file, name string) (n int) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			fmt.Sscan(rest, &n)
		}
	}
	return n
}
