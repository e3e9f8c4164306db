package udat_test

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// footprints compares what the process has of the system's resources with what
// it had when the first sequences had run.
type footprints struct {
	measures   int
	first, now footprint
}

type footprint struct{ Descriptors, Threads, Mappings int }

const (
	settledAfter  = 20 // sequences
	measuredEvery = 10

	moreDescriptors = 16
	moreThreads     = 64
	moreMappings    = 300
)

func (p *footprints) check(t *testing.T) {
	p.measures++
	if p.measures < settledAfter || p.measures%measuredEvery != 0 {
		return
	}
	p.now = measured(t)
	if p.first == (footprint{}) {
		p.first = p.now
	}
	// The library's threads release some of it after the close.
	for deadline := time.Now().Add(within().settle); p.isTooMuch() && time.Now().Before(deadline); p.now = measured(t) {
		time.Sleep(10 * time.Millisecond)
	}
	if p.isTooMuch() {
		t.Errorf("after %d sequences the process has %+v, early on it had %+v", p.measures, p.now, p.first)
	}
}

func (p *footprints) isTooMuch() bool {
	return p.now.Descriptors > p.first.Descriptors+moreDescriptors || p.now.Threads > p.first.Threads+moreThreads || p.now.Mappings > p.first.Mappings+moreMappings
}

func measured(t *testing.T) footprint {
	return footprint{entries(t, "/proc/self/fd"), entries(t, "/proc/self/task"), mappings(t)}
}

func entries(t *testing.T, folder string) int {
	list, err := os.ReadDir(folder)
	want(t, err)
	return len(list)
}

func mappings(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/maps")
	want(t, err)
	return bytes.Count(text, []byte("\n"))
}
