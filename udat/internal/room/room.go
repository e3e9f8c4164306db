// Package room accounts for the room in a queue that has two parts: one in a
// library, which breaks when it overflows, and one in memory, which what was taken
// from the first waits in.
package room

import "sync/atomic"

// Room is the account. It is safe for concurrent use, but for Begin.
type Room struct {
	length atomic.Int64 // how much the queue holds
	native atomic.Int64 // how much of that the library holds
	used   atomic.Int64 // what is there, or to come
	queued atomic.Int64 // what of that is in memory
}

// SetLength sets how much the queue holds.
func (r *Room) SetLength(n int) { r.length.Store(int64(n)) }

// Length returns how much the queue holds.
func (r *Room) Length() int { return int(r.length.Load()) }

// SetNative sets how much the library's part holds.
func (r *Room) SetNative(n int) { r.native.Store(int64(n)) }

// Native returns how much the library's part holds.
func (r *Room) Native() int { return int(r.native.Load()) }

// Begin begins the account again, with what is to come and what is in memory.
func (r *Room) Begin(coming, queued int) {
	r.used.Store(int64(coming + queued))
	r.queued.Store(int64(queued))
}

// Used returns how much is there or to come.
func (r *Room) Used() int { return int(r.used.Load()) }

// Overfull reports whether more may come to the library's part than it holds.
func (r *Room) Overfull() bool { return r.used.Load()-r.queued.Load() > r.native.Load() }

// Take takes room for n, if there is so much.
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

// Force takes room for n, whether or not there is so much.
func (r *Room) Force(n int) { r.used.Add(int64(n)) }

// Release releases the room of n, which will not come, or have left the queue from
// the library's part.
func (r *Room) Release(n int) { r.used.Add(-int64(n)) }

// Queue notes that something has moved to the part in memory.
func (r *Room) Queue() { r.queued.Add(1) }

// Leave notes that something has left the queue from the part in memory.
func (r *Room) Leave() {
	r.queued.Add(-1) // first, so that nobody sees more room in the library than there is
	r.used.Add(-1)
}
