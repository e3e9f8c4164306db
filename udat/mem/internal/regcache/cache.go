// Package regcache keeps memory registrations for the next use of the same memory. It knows nothing
// about adapters: a Backend registers memory and frees registrations.
//
// A registration keeps its memory alive and in place. It is therefore safe to look up registrations
// by address: while a registration exists, no other memory can have its addresses.
package regcache

import (
	"container/list"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// Limits bound what a cache holds.
type Limits struct {
	// IdleBytes and IdleRegions are how much unused memory stays registered.
	IdleBytes   int64
	IdleRegions int
	// Bytes and Regions are how much may be registered in total.
	Bytes   int64
	Regions int
}

// Stats describe a cache's registrations and activity.
type Stats struct {
	Hits, Misses, Evictions, Refusals uint64
	Regions, IdleRegions              int
	Bytes, IdleBytes                  int64
}

// Errors of a cache. It passes on the errors of its backend.
var (
	ErrClosed = errors.New("cache is closed")
	ErrInUse  = errors.New("registrations are in use")
)

// LimitError says that memory does not fit.
type LimitError struct {
	Size   int64
	Limits Limits
	Stats  Stats
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%d bytes do not fit beside %d bytes in %d regions", e.Size, e.Stats.Bytes, e.Stats.Regions)
}

// Backend registers memory. Its functions are called without a lock, from any
// goroutine. Register keeps the memory alive and in place until Free succeeds.
type Backend[R any] struct {
	Register func(memory []byte, privileges uint32) (R, error)
	// Free fails, and leaves the region unchanged, when others use it without the cache's
	// knowledge.
	Free func(R) error
	// Scarce reports whether Register may succeed after other regions are freed, given its error.
	Scarce func(error) bool
}

// Cache is a cache of registrations. It is safe for concurrent use.
type Cache[R any] struct {
	limits  Limits
	backend Backend[R]

	mu      sync.Mutex
	closed  bool
	classes []class[R]              // regions that Acquire can find
	idle    list.List               // regions that Acquire can find and nobody uses, in the order in which they were last used
	hidden  map[*Region[R]]struct{} // regions that Acquire no longer finds: in use, or impossible to free
	pending []*pending
	freeing int        // regions
	freed   *sync.Cond // signals that freeing has become less
	stats   Stats
}

// class is the set of regions with the same privileges.
type class[R any] struct {
	privileges uint32
	rangeSet[R]
}

// Region is memory that a cache has registered.
type Region[R any] struct {
	Value      R
	start, end uintptr
	privileges uint32

	// Guarded by the lock of the cache.
	users   int
	visible bool          // to Acquire
	element *list.Element // of Cache.idle
}

// Offset returns where memory that the region has lies in it.
func (r *Region[R]) Offset(memory []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(memory))) - r.start)
}

func (r *Region[R]) size() int64 { return int64(r.end - r.start) }

// pending is memory that is being registered. Goroutines that want a part of it wait.
type pending struct {
	start, end uintptr
	privileges uint32
	forgotten  bool // nobody may find it
	done       chan struct{}
}

// New makes a cache.
func New[R any](limits Limits, backend Backend[R]) *Cache[R] {
	c := &Cache[R]{limits: limits, backend: backend, hidden: map[*Region[R]]struct{}{}}
	c.freed = sync.NewCond(&c.mu)
	return c
}

func rangeOf(memory []byte) (start, end uintptr) {
	start = uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	return start, start + uintptr(len(memory))
}

// Acquire returns a region that contains the memory, of at least one byte, and has at least the
// privileges. The caller must call Release.
func (c *Cache[R]) Acquire(memory []byte, privileges uint32) (*Region[R], error) {
	start, end := rangeOf(memory)
	size := int64(len(memory))
	c.mu.Lock()
	defer c.mu.Unlock()
	for tried := false; ; {
		if c.closed {
			return nil, ErrClosed
		}
		if region := c.find(start, end, privileges); region != nil {
			c.use(region)
			c.stats.Hits++
			return region, nil
		}
		if p := c.registering(start, end, privileges); p != nil {
			c.mu.Unlock()
			<-p.done
			c.mu.Lock()
			continue
		}
		if c.fits(size) {
			c.stats.Misses++
			return c.register(memory, privileges)
		}
		if !tried {
			tried = true
			c.free(c.strays())
			continue
		}
		victims := c.victims(size)
		switch {
		case len(victims) > 0:
			c.free(victims)
		case c.freeing > 0:
			c.freed.Wait()
		default:
			c.stats.Refusals++
			return nil, &LimitError{Size: size, Limits: c.limits, Stats: c.stats}
		}
	}
}

// find returns an existing region.
func (c *Cache[R]) find(start, end uintptr, privileges uint32) *Region[R] {
	for i := range c.classes {
		if k := &c.classes[i]; k.privileges&privileges == privileges {
			if region := k.covering(start, end); region != nil {
				return region
			}
		}
	}
	return nil
}

func (c *Cache[R]) registering(start, end uintptr, privileges uint32) *pending {
	for _, p := range c.pending {
		if p.start <= start && end <= p.end && p.privileges&privileges == privileges && !p.forgotten {
			return p
		}
	}
	return nil
}

func (c *Cache[R]) use(region *Region[R]) {
	if region.users == 0 {
		c.removeIdle(region)
	}
	region.users++
}

// removeIdle removes a region from those that nobody uses.
func (c *Cache[R]) removeIdle(region *Region[R]) {
	c.idle.Remove(region.element)
	c.stats.IdleRegions--
	c.stats.IdleBytes -= region.size()
}

func (c *Cache[R]) fits(size int64) bool {
	return c.stats.Regions < c.limits.Regions && size <= c.limits.Bytes-c.stats.Bytes
}

// victims removes the regions that were unused for the longest time: as many as must be freed so
// that the bytes fit, or none if that would not be enough.
func (c *Cache[R]) victims(size int64) (victims []*Region[R]) {
	bytes, regions := size-(c.limits.Bytes-c.stats.Bytes), c.stats.Regions+1-c.limits.Regions
	if bytes > c.stats.IdleBytes || regions > c.stats.IdleRegions {
		return nil
	}
	for bytes > 0 || regions > 0 {
		region := c.evict()
		bytes -= region.size()
		regions--
		victims = append(victims, region)
	}
	return victims
}

// strays removes the unused regions that could not be freed.
func (c *Cache[R]) strays() (strays []*Region[R]) {
	for region := range c.hidden {
		if region.users == 0 {
			delete(c.hidden, region)
			strays = append(strays, region)
		}
	}
	return strays
}

// evict removes the region that was unused for the longest time.
func (c *Cache[R]) evict() *Region[R] {
	region := c.idle.Front().Value.(*Region[R])
	c.removeIdle(region)
	c.class(region.privileges).remove(region)
	region.visible = false
	c.stats.Evictions++
	return region
}

// free frees removed regions. A region that cannot be freed becomes a stray. The lock is released
// meanwhile.
func (c *Cache[R]) free(regions []*Region[R]) (errs []error) {
	if len(regions) == 0 {
		return nil
	}
	c.freeing += len(regions)
	c.mu.Unlock()
	errs = make([]error, len(regions))
	for i, region := range regions {
		errs[i] = c.backend.Free(region.Value)
	}
	c.mu.Lock()
	c.freeing -= len(regions)
	c.freed.Broadcast()
	for i, region := range regions {
		if errs[i] != nil {
			c.hidden[region] = struct{}{}
			continue
		}
		c.stats.Regions--
		c.stats.Bytes -= region.size()
	}
	return errs
}

// register registers memory that fits. The lock is released meanwhile.
func (c *Cache[R]) register(memory []byte, privileges uint32) (*Region[R], error) {
	region := &Region[R]{privileges: privileges, users: 1}
	region.start, region.end = rangeOf(memory)
	p := &pending{start: region.start, end: region.end, privileges: privileges, done: make(chan struct{})}
	c.pending = append(c.pending, p)
	c.stats.Regions++
	c.stats.Bytes += region.size()
	c.mu.Unlock()
	value, err := c.backend.Register(memory, privileges)
	if err != nil && c.backend.Scarce(err) && c.makeRoom() {
		value, err = c.backend.Register(memory, privileges)
	}
	c.mu.Lock()
	c.pending = slices.DeleteFunc(c.pending, func(other *pending) bool { return other == p })
	close(p.done)
	if err != nil {
		c.stats.Regions--
		c.stats.Bytes -= region.size()
		return nil, err
	}
	region.Value = value
	c.free(c.insert(region, p.forgotten))
	return region, nil
}

// makeRoom frees all unused regions, and reports whether there were any.
func (c *Cache[R]) makeRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	others := c.freeing > 0
	freed, _ := c.flush()
	for c.freeing > 0 {
		c.freed.Wait()
	}
	return freed > 0 || others
}

// class returns the class of the privileges.
func (c *Cache[R]) class(privileges uint32) *class[R] {
	for i := range c.classes {
		if c.classes[i].privileges == privileges {
			return &c.classes[i]
		}
	}
	c.classes = append(c.classes, class[R]{privileges: privileges})
	return &c.classes[len(c.classes)-1]
}

// insert makes a region visible to Acquire, unless it is forgotten or another region contains it.
// Acquire no longer finds regions that the new one contains; insert returns the unused ones.
func (c *Cache[R]) insert(region *Region[R], forgotten bool) (unused []*Region[R]) {
	k := c.class(region.privileges)
	if forgotten || k.covering(region.start, region.end) != nil {
		c.hidden[region] = struct{}{}
		return nil
	}
	region.visible = true
	for _, other := range k.add(region) {
		if c.hide(other) {
			unused = append(unused, other)
		}
	}
	return unused
}

// hide records that a region was removed from its class. It reports whether the region is unused
// and must be freed.
func (c *Cache[R]) hide(region *Region[R]) (unused bool) {
	region.visible = false
	if region.users > 0 {
		c.hidden[region] = struct{}{}
		return false
	}
	c.removeIdle(region)
	return true
}

// Release ends a use of a region. Each Acquire needs one Release.
func (c *Cache[R]) Release(region *Region[R]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if region.users--; region.users > 0 {
		return
	}
	if !region.visible {
		delete(c.hidden, region)
		c.free([]*Region[R]{region})
		return
	}
	region.element = c.idle.PushBack(region)
	c.stats.IdleRegions++
	c.stats.IdleBytes += region.size()
	var victims []*Region[R]
	for c.stats.IdleRegions > c.limits.IdleRegions || c.stats.IdleBytes > c.limits.IdleBytes {
		victims = append(victims, c.evict())
	}
	c.free(victims)
}

// Flush frees all unused regions, and returns their number. Its error is that of regions that could
// not be freed.
func (c *Cache[R]) Flush() (freed int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flush()
}

func (c *Cache[R]) flush() (freed int, err error) {
	victims := c.strays()
	for c.idle.Len() > 0 {
		victims = append(victims, c.evict())
	}
	errs := c.free(victims)
	for _, e := range errs {
		if e == nil {
			freed++
		}
	}
	return freed, errors.Join(errs...)
}

// Forget frees the unused regions that overlap the memory. It fails with ErrInUse if used regions
// overlap it: Acquire no longer finds these, and they are freed when they are released. It fails
// with the backend's error if a region cannot be freed.
func (c *Cache[R]) Forget(memory []byte) error {
	start, end := rangeOf(memory)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	for c.freeing > 0 { // perhaps a part of it
		c.freed.Wait()
	}
	var inUse error
	var victims []*Region[R]
	for i := range c.classes {
		k := &c.classes[i]
		for _, region := range k.overlapping(start, end) {
			k.remove(region)
			if c.hide(region) {
				victims = append(victims, region)
			}
		}
	}
	for region := range c.hidden {
		switch {
		case region.end <= start || end <= region.start:
		case region.users > 0:
			inUse = ErrInUse
		default:
			delete(c.hidden, region)
			victims = append(victims, region)
		}
	}
	for _, p := range c.pending {
		if p.start < end && start < p.end {
			p.forgotten = true
			inUse = ErrInUse
		}
	}
	return errors.Join(append(c.free(victims), inUse)...)
}

// Stats returns the counters.
func (c *Cache[R]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Close frees all regions and accepts no more. It fails with ErrInUse while regions are in use, and
// with the backend's error if one cannot be freed. It can then be called again.
func (c *Cache[R]) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	for c.freeing > 0 {
		c.freed.Wait()
	}
	if c.stats.Regions > c.stats.IdleRegions+c.strayCount() {
		return ErrInUse
	}
	c.closed = true
	if _, err := c.flush(); err != nil {
		c.closed = false
		return err
	}
	return nil
}

func (c *Cache[R]) strayCount() (n int) {
	for region := range c.hidden {
		if region.users == 0 {
			n++
		}
	}
	return n
}
