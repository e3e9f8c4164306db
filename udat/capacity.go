package udat

import "sync/atomic"

// capacity accounts for the events of an EVD that come one by one: software
// events and connection requests.
type capacity struct {
	total atomic.Int64
	used  atomic.Int64
}

// reserve claims room for one more event. It reports false when there is none.
func (c *capacity) reserve() bool {
	for {
		used := c.used.Load()
		if used >= c.total.Load() {
			return false
		}
		if c.used.CompareAndSwap(used, used+1) {
			return true
		}
	}
}

func (c *capacity) release() { c.used.Add(-1) }
