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
	sequences  int
	LeftBehind int // sequences after which an adapter stays: see LeftBehind
	First, Now footprint
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
	p.sequences++
	if p.sequences < settledAfter || p.sequences%measuredEvery != 0 {
		return
	}
	p.Now = measured(t)
	if p.First == (footprint{}) {
		p.First = p.Now
	}
	// The library's threads release some of it after the close.
	for deadline := time.Now().Add(within().settle); p.isTooMuch() && time.Now().Before(deadline); p.Now = measured(t) {
		time.Sleep(10 * time.Millisecond)
	}
	if p.isTooMuch() {
		t.Errorf("after %d sequences the process has %+v, early on it had %+v", p.sequences, p.Now, p.First)
	}
}

func (p *footprints) isTooMuch() bool {
	return p.Now.Descriptors > p.First.Descriptors+moreDescriptors || p.Now.Threads > p.First.Threads+moreThreads || p.Now.Mappings > p.First.Mappings+moreMappings
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
