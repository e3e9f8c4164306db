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
type Mutex[R Rank] = RWMutex[R]

// RWMutex is a sync.RWMutex with a rank. The order holds for readers, too.
type RWMutex[R Rank] struct {
	mu sync.RWMutex
	placement[R]
}

// Lock takes the lock for writing. It panics if that is out of order.
func (m *RWMutex[R]) Lock() {
	take(m.holding(m))
	m.mu.Lock()
}

// TryLock takes the lock for writing if it is free.
func (m *RWMutex[R]) TryLock() bool {
	taken := m.mu.TryLock()
	if taken {
		note(m.holding(m))
	}
	return taken
}

// Unlock releases the lock that was taken for writing.
func (m *RWMutex[R]) Unlock() {
	release(m)
	m.mu.Unlock()
}

// RLock takes the lock for reading. It panics if that is out of order.
func (m *RWMutex[R]) RLock() {
	take(m.holding(m))
	m.mu.RLock()
}

// TryRLock takes the lock for reading if nobody writes.
func (m *RWMutex[R]) TryRLock() bool {
	taken := m.mu.TryRLock()
	if taken {
		note(m.holding(m))
	}
	return taken
}

// RUnlock releases the lock that was taken for reading.
func (m *RWMutex[R]) RUnlock() {
	release(m)
	m.mu.RUnlock()
}

// placement is the place of a lock in the order. It is set atomically, since other
// goroutines may take the lock meanwhile: they may know an object before it is complete.
type placement[R Rank] struct {
	other  atomic.Pointer[Rank] // nil for R
	number atomic.Uint64
}

func (p *placement[R]) holding(lock any) holding {
	var rank Rank = *new(R)
	if other := p.other.Load(); other != nil {
		rank = *other
	}
	position, name := rank.Place()
	return holding{lock, position, p.number.Load(), name}
}

func (p *placement[R]) setNumber(n uint64) { p.number.Store(n) }
func (p *placement[R]) setRank(r Rank)     { p.other.Store(&r) }

// Number sets the number of a lock, from 1, among the locks of its rank. A goroutine may hold
// several locks of one rank if it takes them in the order of their numbers.
func Number(lock interface{ setNumber(uint64) }, number uint64) { lock.setNumber(number) }

// As sets another rank for a lock than that of its type.
func As[R Rank](lock interface{ setRank(Rank) }) { lock.setRank(*new(R)) }

// MayWait is called before a goroutine waits for other goroutines or threads. It panics
// if the goroutine holds a lock of a later rank than R, which those may need.
func MayWait[R Rank]() {
	position, _ := (*new(R)).Place()
	mu.Lock()
	defer mu.Unlock()
	for _, h := range held[goroutine()] {
		if h.position > position {
			panic(fmt.Sprintf("lockorder: a wait with the lock of %s held", h.name))
		}
	}
}

// holding is a lock that a goroutine holds, or waits for.
type holding struct {
	lock     any
	position int
	number   uint64
	name     string
}

var (
	mu   sync.Mutex
	held = make(map[uint64][]holding) // by goroutine
)

// take records that the goroutine takes a lock. It panics if that is out of order.
func take(h holding) {
	id := goroutine()
	mu.Lock()
	defer mu.Unlock()
	for _, before := range held[id] {
		if before.position > h.position || before.position == h.position && before.number >= h.number {
			panic(fmt.Sprintf("lockorder: the lock of %s (%d) is taken after that of %s (%d)", h.name, h.number, before.name, before.number))
		}
	}
	held[id] = append(held[id], h)
}

// note is take without the check.
func note(h holding) {
	id := goroutine()
	mu.Lock()
	defer mu.Unlock()
	held[id] = append(held[id], h)
}

// release records that a lock is released, usually by the goroutine that took it.
func release(lock any) {
	id := goroutine()
	mu.Lock()
	defer mu.Unlock()
	if releaseFrom(id, lock) {
		return
	}
	for other := range held {
		if releaseFrom(other, lock) {
			return
		}
	}
}

func releaseFrom(id uint64, lock any) bool {
	list := held[id]
	i := slices.IndexFunc(list, func(h holding) bool { return h.lock == lock })
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

// goroutine returns the number of the calling goroutine, which only its stack trace
// shows.
func goroutine() uint64 {
	var text [64]byte
	fields := bytes.Fields(text[:runtime.Stack(text[:], false)])
	id, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return id
}
