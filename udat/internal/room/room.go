// Package room accounts for the room in a queue that has two parts: one in a library,
// which breaks if it overflows, and one in memory, which holds what was taken from the
// library's part.
package room

import (
	"math"
	"sync/atomic"
)

// Room is the account. It is safe for concurrent use, except for Begin.
type Room struct {
	length  atomic.Int64 // how many entries the queue holds at most
	native  atomic.Int64 // how many the library's part holds at most
	entries atomic.Int64 // those that are in the queue or will come, as joined counts
}

// The counts of the entries for each part are the halves of one word. Take must decide by
// both at the same moment: entries that leave one part while others come to the other
// leave the sum as it was.
func join(library, memory int64) int64 { return library<<32 + memory }

func split(entries int64) (library, memory int64) {
	return entries >> 32, entries & (1<<32 - 1)
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
func (r *Room) Begin(coming, queued int) { r.entries.Store(join(int64(coming), int64(queued))) }

// Used returns the number of entries that are in the queue or will come.
func (r *Room) Used() int {
	library, memory := split(r.entries.Load())
	return int(library + memory)
}

// Overfull reports whether more entries may come to the library's part than it holds.
func (r *Room) Overfull() bool {
	library, _ := split(r.entries.Load())
	return library > r.native.Load()
}

// Take takes room for n entries. It returns false if there is not that much.
func (r *Room) Take(n int) bool { return r.take(n, r.length.Load()) }

// TakeNative takes room for n entries that never move to the part in memory. So they may
// come beside all that the queue holds at most. It returns false if the library's part has
// not that much room.
func (r *Room) TakeNative(n int) bool { return r.take(n, math.MaxInt64) }

func (r *Room) take(n int, length int64) bool {
	for {
		entries := r.entries.Load()
		library, memory := split(entries)
		library += int64(n)
		if library > r.native.Load() || library+memory > length {
			return false
		}
		if r.entries.CompareAndSwap(entries, join(library, memory)) {
			return true
		}
	}
}

// Force takes room for n entries even if there is not that much.
func (r *Room) Force(n int) { r.entries.Add(join(int64(n), 0)) }

// Release releases the room of n entries that will not come, or that have left the queue
// from the library's part.
func (r *Room) Release(n int) { r.entries.Add(join(int64(-n), 0)) }

// Queue notes that an entry has moved to the part in memory.
func (r *Room) Queue() { r.entries.Add(join(-1, 1)) }

// Leave notes that an entry has left the queue from the part in memory.
func (r *Room) Leave() { r.entries.Add(join(0, -1)) }
