package notify

import "time"

// What the tests of udat look at.

// Waiters returns how many goroutines wait on the queue.
func (q *Queue) Waiters() int {
	w := &q.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blocks {
		return len(w.parked) + 1
	}
	return len(w.parked)
}

// Notifies reports whether events trigger the notifier's CNO.
func (q *Queue) Notifies() bool {
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	return q.waiters.notifies
}

// Waiters returns how many goroutines wait on the CNO.
func (c *CNO) Waiters() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.parked)
}

// Blocking returns how many goroutines block.
func (n *Notifier) Blocking() int { return int(n.blocking.Load()) }

// SpendSlice makes the latest timeslice of the process one that ended long ago.
func SpendSlice() { lastSlice.Store(int64(time.Since(processBegun) - 2*longestSlice)) }

// SliceEnded reports whether a timeslice has ended since SpendSlice.
func SliceEnded() bool {
	return time.Since(processBegun)-time.Duration(lastSlice.Load()) < longestSlice
}
