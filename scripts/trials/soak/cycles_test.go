//go:build linux

package soak

import (
	"flag"
	"fmt"
	"sync"
	"testing"

	"github.com/goudat/goudat/udat"
)

var cyclesFlag = flag.Int("soak.cycles", 100, "how many connections are made, used and ended, with each provider")

// Connections are made, used and ended, one after the other, and the process does not grow.
func TestCycles(t *testing.T) {
	const lines = 4
	cycles := func(n int) func(*testing.T, *udat.IA) *tally {
		return func(t *testing.T, ia *udat.IA) *tally {
			c := &cycleCount{t: t, total: n}
			total := run(t, openLines(t, ia, lines), c.next)
			c.compareHalves()
			return total
		}
	}
	what := fmt.Sprintf("%d cycles of connect, transfer, disconnect, %d at a time", *cyclesFlag, lines)
	measured(t, what, cycles(min(*cyclesFlag/3, 1000)), cycles(*cyclesFlag))
}

// cycleCount counts the cycles of all lines, and takes samples now and then.
type cycleCount struct {
	t     *testing.T
	total int

	mu      sync.Mutex
	begun   int
	samples []holdings
}

const sampled = 20 // samples in a run

func (c *cycleCount) next(ln *line) (*plan, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun == c.total {
		return nil, false
	}
	n := c.begun
	c.begun++
	if every := max(c.total/sampled, 1); n%every == every-1 {
		now := measure(c.t)
		c.t.Logf("%d cycles: %v", n+1, now)
		c.samples = append(c.samples, now)
	}
	return cycle(n), true
}

// cycle returns the plan for a cycle: each way to end a connection, by either end. Most endpoints are used again.
func cycle(n int) *plan {
	p := &plan{limit: 4, acts: []act{{server: n%2 == 1, how: way(n / 2 % int(ways))}}}
	switch {
	case n%64 == 63:
		p.renewal = [2]renewal{remakeAll, remakeAll}
	case n%4 == 3:
		p.renewal = [2]renewal{reset, remake}
	case n%4 == 1:
		p.renewal = [2]renewal{remake, reset}
	}
	return p
}

// compareHalves checks that the second half of the samples is no higher than the first. Anything that grows with the
// cycles shows in it. A short run has too few samples to distinguish growth from chance.
func (c *cycleCount) compareHalves() {
	const many = 1000
	if c.total < many {
		return
	}
	half := len(c.samples) / 2
	first, second := highest(c.samples[:half]), highest(c.samples[half:])
	c.t.Logf("first half at most:  %v", first)
	c.t.Logf("second half at most: %v", second)
	// These vary as connections come and go. Resident memory includes unused holes.
	const moreDescriptors, moreHeap, moreNative, moreResident = 16, 1 << 10, 256, 4 << 10
	if second.Descriptors > first.Descriptors+moreDescriptors || second.Threads > first.Threads+moreThreads || second.Pinned > first.Pinned ||
		second.heap > first.heap+moreHeap || second.native > first.native+moreNative || second.Resident > first.Resident+moreResident {
		c.t.Errorf("the second half of the cycles holds more than the first, seed %d", *seedFlag)
	}
}

func highest(samples []holdings) (most holdings) {
	for _, s := range samples {
		most.objects = max(most.objects, s.objects)
		most.Descriptors = max(most.Descriptors, s.Descriptors)
		most.Threads = max(most.Threads, s.Threads)
		most.Pinned = max(most.Pinned, s.Pinned)
		most.heap = max(most.heap, s.heap)
		most.native = max(most.native, s.native)
		most.Resident = max(most.Resident, s.Resident)
	}
	return most
}
