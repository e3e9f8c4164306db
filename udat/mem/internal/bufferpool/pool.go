// Package bufferpool hands out buffers of one size. They are parts of slabs; each slab is made and
// freed as a whole. The package does not touch memory: a Backend makes and frees slabs.
//
// Buffers come from the first slab that has an unused one. When fewer buffers are needed, the last
// slabs become unused and can be freed.
package bufferpool

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// Errors of a pool. It passes on the errors of its backend.
var (
	ErrClosed    = errors.New("pool is closed")
	ErrInUse     = errors.New("buffers are in use")
	ErrExhausted = errors.New("all buffers are in use")
	ErrStale     = errors.New("buffer is released")
)

// Backend makes slabs. Its functions are called without a lock, and Make by one goroutine at a
// time.
type Backend[S any] struct {
	Make func(buffers int) (S, error)
	// Free fails, and leaves the slab unchanged, when others use it without the pool's knowledge.
	Free func(S) error
}

// Stats describe a pool's buffers and activity.
type Stats struct {
	Gets, Refusals          uint64
	InUse, MostInUse, Slabs int
	Buffers                 int // in use or not
}

// Pool is a pool of buffers. It is safe for concurrent use.
type Pool[S any] struct {
	backend      Backend[S]
	most, atOnce int

	growing sync.Mutex // locked before mu

	mu     sync.Mutex
	closed bool
	slabs  []*slab[S]
	first  int // no slab before this one has an unused buffer
	stats  Stats
}

// slab is a slab, or the place of a freed one.
type slab[S any] struct {
	value  S
	live   bool
	slots  []slot[S]
	unused []int32 // of the slots
}

type slot[S any] struct {
	slab       *slab[S]
	number     int           // in the slab
	index      uint32        // in the pool
	generation atomic.Uint64 // counts gets and puts: odd while the buffer is in use
}

// Handle refers to a buffer, from Get until Put. The zero Handle refers to none.
type Handle[S any] struct {
	slot       *slot[S]
	generation uint64
}

// New makes a pool of at most most buffers, in slabs of atOnce buffers. The last slab may be
// smaller.
func New[S any](most, atOnce int, backend Backend[S]) *Pool[S] {
	return &Pool[S]{backend: backend, most: most, atOnce: atOnce}
}

// Valid reports whether the buffer is still in use.
func (h Handle[S]) Valid() bool { return h.slot != nil && h.slot.generation.Load() == h.generation }

// Slab returns the slab of a handle, and the buffer's number in it. The handle must not be zero.
func (h Handle[S]) Slab() (S, int) { return h.slot.slab.value, h.slot.number }

const generationBits = 32

// Cookie returns a number with which Find finds the handle. The handle must not be zero.
func (h Handle[S]) Cookie() uint64 {
	return uint64(h.slot.index)<<generationBits | uint64(uint32(h.generation))
}

// Find returns the handle that has the cookie.
func (p *Pool[S]) Find(cookie uint64) (Handle[S], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place, number := cookie>>generationBits/uint64(p.atOnce), cookie>>generationBits%uint64(p.atOnce)
	if place < uint64(len(p.slabs)) && number < uint64(len(p.slabs[place].slots)) {
		s := &p.slabs[place].slots[number]
		generation := s.generation.Load()
		if uint32(generation) == uint32(cookie) && generation%2 == 1 {
			return Handle[S]{s, generation}, nil
		}
	}
	return Handle[S]{}, ErrStale
}

// Get returns an unused buffer.
func (p *Pool[S]) Get() (Handle[S], error) {
	for {
		if h, err := p.take(); err != nil || h.slot != nil {
			return h, err
		}
		if err := p.grow(); err != nil {
			return Handle[S]{}, err
		}
	}
}

// take returns the zero handle when there is no unused buffer.
func (p *Pool[S]) take() (h Handle[S], err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return h, ErrClosed
	}
	for ; p.first < len(p.slabs); p.first++ {
		s := p.slabs[p.first]
		last := len(s.unused) - 1
		if last < 0 {
			continue
		}
		h.slot = &s.slots[s.unused[last]]
		s.unused = s.unused[:last]
		h.generation = h.slot.generation.Add(1)
		p.stats.Gets++
		p.stats.InUse++
		p.stats.MostInUse = max(p.stats.MostInUse, p.stats.InUse)
		return h, nil
	}
	return h, nil
}

// grow makes a slab, unless there is now an unused buffer.
func (p *Pool[S]) grow() error {
	p.growing.Lock()
	defer p.growing.Unlock()
	place, buffers, err := p.planSlab()
	if err != nil || buffers == 0 {
		return err
	}
	value, err := p.backend.Make(buffers)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.place(place, value, buffers)
	return nil
}

// planSlab returns where the next slab goes and how many buffers it has, 0 if none
// is needed.
func (p *Pool[S]) planSlab() (place, buffers int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, 0, ErrClosed
	}
	for _, s := range p.slabs[p.first:] {
		if len(s.unused) > 0 {
			return 0, 0, nil
		}
	}
	place = slices.IndexFunc(p.slabs, func(s *slab[S]) bool { return !s.live })
	if place < 0 {
		place = len(p.slabs)
	}
	if buffers = min(p.atOnce, p.most-place*p.atOnce); buffers <= 0 {
		p.stats.Refusals++
		return 0, 0, ErrExhausted
	}
	return place, buffers, nil
}

// place adds a slab. Its buffers continue the counters of earlier buffers in that place, so that
// old handles stay stale.
func (p *Pool[S]) place(place int, value S, buffers int) {
	made := &slab[S]{value: value, live: true, slots: make([]slot[S], buffers), unused: make([]int32, buffers)}
	for i := range made.slots {
		s := &made.slots[i]
		s.slab, s.number, s.index = made, i, uint32(place*p.atOnce+i)
		made.unused[i] = int32(buffers - 1 - i)
	}
	if place == len(p.slabs) {
		p.slabs = append(p.slabs, made)
	} else {
		for i := range made.slots {
			made.slots[i].generation.Store(p.slabs[place].slots[i].generation.Load())
		}
		p.slabs[place] = made
	}
	p.first = min(p.first, place)
	p.stats.Slabs++
	p.stats.Buffers += buffers
}

// Put returns a buffer to the pool. It fails with ErrStale if the buffer is already back.
func (p *Pool[S]) Put(h Handle[S]) error {
	if h.slot == nil {
		return ErrStale
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !h.slot.generation.CompareAndSwap(h.generation, h.generation+1) {
		return ErrStale
	}
	s := h.slot.slab
	s.unused = append(s.unused, int32(h.slot.number))
	p.first = min(p.first, int(h.slot.index)/p.atOnce)
	p.stats.InUse--
	return nil
}

// Trim frees unused slabs, the last first, as long as at least keep unused buffers stay. It returns
// the number of freed buffers. Its error is that of slabs that could not be freed; these stay.
func (p *Pool[S]) Trim(keep int) (freed int, err error) {
	p.growing.Lock() // no slab takes the place of another that may come back
	defer p.growing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trim(keep)
}

func (p *Pool[S]) trim(keep int) (freed int, err error) {
	type candidate struct {
		slab   *slab[S]
		unused []int32
	}
	var candidates []candidate
	for _, s := range slices.Backward(p.slabs) {
		n := len(s.slots)
		if s.live && len(s.unused) == n && p.stats.Buffers-p.stats.InUse-n >= keep {
			candidates = append(candidates, candidate{s, s.unused})
			s.live, s.unused = false, nil
			p.stats.Buffers -= n
			p.stats.Slabs--
		}
	}
	p.mu.Unlock()
	errs := make([]error, len(candidates))
	for i, c := range candidates {
		errs[i] = p.backend.Free(c.slab.value)
	}
	p.mu.Lock()
	for i, c := range candidates {
		n := len(c.slab.slots)
		if errs[i] == nil {
			freed += n
			continue
		}
		c.slab.live, c.slab.unused = true, c.unused
		p.first = min(p.first, int(c.slab.slots[0].index)/p.atOnce)
		p.stats.Buffers += n
		p.stats.Slabs++
	}
	return freed, errors.Join(errs...)
}

// Stats returns the counters.
func (p *Pool[S]) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Close frees all slabs and hands out no more buffers. It fails with ErrInUse while buffers are in
// use, and with the backend's error when a slab cannot be freed. It can then be called again.
func (p *Pool[S]) Close() error {
	p.growing.Lock()
	defer p.growing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return ErrClosed
	case p.stats.InUse > 0:
		return ErrInUse
	}
	p.closed = true
	if _, err := p.trim(0); err != nil {
		p.closed = false
		return err
	}
	return nil
}
