// Package room accounts for the room in a queue that has two parts: one in a library,
// which breaks if it overflows, and one in memory, which holds what was taken from the
// library's part.
package room

import "sync/atomic"

// Room is the account. It is safe for concurrent use, except for Begin.
type Room struct {
	length atomic.Int64 // how many entries the queue holds at most
	native atomic.Int64 // how many the library's part holds at most
	used   atomic.Int64 // entries that are in the queue or will come
	queued atomic.Int64 // of these, the entries in memory
}

// SetLength sets how many entries the queue holds at most.
func (r *Room) SetLength(n int) { r.length.Store(int64(n)) }

// Length returns how many entries the queue holds at most.
func (r *Room) Length() int { return int(r.length.Load()) }

// SetNative sets how many entries the library's part holds at most.
func (r *Room) SetNative(n int) { r.native.Store(int64(n)) }

// Native returns how many entries the library's part holds at most.
func (r *Room) Native() int { return int(r.native.Load()) }

// Begin begins the account again, with the number of entries that will come, and the
// number of those in memory.
func (r *Room) Begin(coming, queued int) {
	r.used.Store(int64(coming + queued))
	r.queued.Store(int64(queued))
}

// Used returns the number of entries that are in the queue or will come.
func (r *Room) Used() int { return int(r.used.Load()) }

// Overfull reports whether more entries may come to the library's part than it holds.
func (r *Room) Overfull() bool { return r.used.Load()-r.queued.Load() > r.native.Load() }

// Take takes room for n entries. It returns false if there is not that much.
func (r *Room) Take(n int) bool {
	for {
		used := r.used.Load()
		after := used + int64(n)
		if after > r.length.Load() || after-r.queued.Load() > r.native.Load() {
			return false
		}
		if r.used.CompareAndSwap(used, after) {
			return true
		}
	}
}

// Force takes room for n entries even if there is not that much.
func (r *Room) Force(n int) { r.used.Add(int64(n)) }

// Release releases the room of n entries that will not come, or that have left the queue
// from the library's part.
func (r *Room) Release(n int) { r.used.Add(-int64(n)) }

// Queue notes that an entry has moved to the part in memory.
func (r *Room) Queue() { r.queued.Add(1) }

// Leave notes that an entry has left the queue from the part in memory.
func (r *Room) Leave() {
	r.queued.Add(-1) // first, so that nobody sees more room in the library than there is
	r.used.Add(-1)
}
