//go:build lockorder

package lockorder

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// Mutex is a sync.Mutex with a rank. Here it is one for writers alone.
type Mutex = RWMutex

// RWMutex is a sync.RWMutex with a rank. The order holds for readers, too.
type RWMutex struct {
	mu    sync.RWMutex
	place atomic.Pointer[place] // others may take the lock meanwhile: they may know an object before it is complete
}

type place struct {
	rank   Rank
	number uint64
}

// Place sets the rank of a lock, and its number among the locks of that rank. A goroutine may hold several locks of one
// rank if it takes them in the order of their numbers, from 1.
func Place(lock *RWMutex, rank Rank, number uint64) { lock.place.Store(&place{rank, number}) }

// Lock takes the lock for writing. It panics if that is out of order.
func (m *RWMutex) Lock() {
	take(m, true)
	m.mu.Lock()
}

// TryLock takes the lock for writing if it is free, in any order.
func (m *RWMutex) TryLock() bool {
	taken := m.mu.TryLock()
	if taken {
		take(m, false)
	}
	return taken
}

// Unlock releases the lock that was taken for writing.
func (m *RWMutex) Unlock() {
	release(m)
	m.mu.Unlock()
}

// RLock takes the lock for reading. It panics if that is out of order.
func (m *RWMutex) RLock() {
	take(m, true)
	m.mu.RLock()
}

// RUnlock releases the lock that was taken for reading.
func (m *RWMutex) RUnlock() {
	release(m)
	m.mu.RUnlock()
}

// holding is a lock that a goroutine holds, or waits for.
type holding struct {
	lock *RWMutex
	place
}

// position is where the rank is in the order.
func (h holding) position() Rank { return h.rank - 1 } // that of Leaf is the greatest

var (
	mu   sync.Mutex
	held = make(map[uint64][]holding) // by goroutine
)

// take records that the goroutine takes a lock. If it is to be in order, take panics if it is not.
func take(m *RWMutex, inOrder bool) {
	h := holding{lock: m}
	if p := m.place.Load(); p != nil {
		h.place = *p
	}
	id := goroutine()
	mu.Lock()
	defer mu.Unlock()
	for _, before := range held[id] {
		if inOrder && (before.position() > h.position() || before.rank == h.rank && before.number >= h.number) {
			panic(fmt.Sprintf("lockorder: a lock of rank %d (%d) is taken after one of rank %d (%d)", h.rank, h.number, before.rank, before.number))
		}
	}
	held[id] = append(held[id], h)
}

// release records that a lock is released, usually by the goroutine that took it.
func release(m *RWMutex) {
	id := goroutine()
	mu.Lock()
	defer mu.Unlock()
	if releaseFrom(id, m) {
		return
	}
	for other := range held {
		if releaseFrom(other, m) {
			return
		}
	}
}

func releaseFrom(id uint64, m *RWMutex) bool {
	list := held[id]
	i := slices.IndexFunc(list, func(h holding) bool { return h.lock == m })
	if i < 0 {
		return false
	}
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(held, id)
	} else {
		held[id] = list
	}
	return true
}

// MayWait is called before a goroutine waits for other goroutines or threads. It panics if the goroutine holds a lock
// that those may need.
func MayWait() {
	mu.Lock()
	defer mu.Unlock()
	for _, h := range held[goroutine()] {
		if h.rank == Leaf || h.rank > Control {
			panic(fmt.Sprintf("lockorder: a wait with a lock of rank %d held", h.rank))
		}
	}
}

// goroutine returns the number of the calling goroutine, which only its stack trace shows.
func goroutine() uint64 {
	var text [64]byte
	fields := bytes.Fields(text[:runtime.Stack(text[:], false)])
	id, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return id
}
