package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// stock is what the process uses.
type stock struct {
	resident, heap int // bytes; heap is what Go's garbage collector found in use
	threads, files int
}

// takeStock collects garbage first. Memory that the collector does not return to the system stays in the resident size.
// /proc/self/status has only an estimate of it.
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

// descriptors returns how many descriptors are open.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries) - 1 // the descriptor of the folder
}

// lineOf returns the number of a line of a file, 0 if there is none.
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
