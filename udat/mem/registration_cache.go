package mem

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem/internal/regcache"
)

// RegistrationCache keeps registrations of the program's memory for the next
// use of the same memory. It is for long messages, which are sent from and read
// into the memory that they are in: a registration costs a system call, and
// time for each page. Its methods may be called from any goroutine.
//
//	registration, err := cache.Register(message, udat.MemPrivLocalRead|udat.MemPrivRemoteRead)
//	...
//	remote, err := registration.RMRTriplet(0, len(message))
//	...                           // the peer reads, and says so
//	err = registration.Release()  // the memory stays registered
//
// # Memory that Go manages
//
// A program in C finds a registration by the address of the memory, and must learn
// from hooks in free and munmap when that is no longer the same memory. Go has no
// such hooks, and needs none here: the memory stays pinned for as long as it is
// registered. So the garbage collector cannot give its addresses to anything
// else, and a registration that is found is right. The price is that memory which
// the program has dropped is kept until it is evicted, up to the limits for what
// is idle, or until Flush or Forget.
//
// A C program also registers the whole pages around a message. That would let
// peers reach other objects of the program, which nothing pins. The cache
// registers the bytes of the slice, without what its capacity has beyond, and
// finds them for each slice that lies inside.
//
// # Memory that the program maps itself
//
// Memory from syscall.Mmap or from C, which Go does not manage, can be registered
// too. The program must call Forget before it unmaps or frees it: what is mapped
// there next would be taken for the same memory, and adapters would read and
// write pages that are gone. Memory from udat.AllocMemory and BufferPool is registered
// already.
//
// # What peers can reach
//
// An idle registration is still a registration: a peer that was given an
// RMRTriplet can use it until the memory is evicted. Where that matters, use
// udat.RegisterMemory and LMR.Free, or Forget.
type RegistrationCache struct {
	pz     *udat.PZ
	limits RegistrationCacheLimits
	cache  *regcache.Cache[*udat.LMR] // nil in a zero RegistrationCache
}

// RegistrationCacheLimits are the limits of a cache. A registration is idle when nobody uses it. A
// zero field means the default.
type RegistrationCacheLimits struct {
	IdleBytes   int64 // that stay registered, negative for none; default 256 MiB
	IdleRegions int   // that stay registered, negative for none; default 1024
	Bytes       int64 // in all, idle and in use; default: no limit
	Regions     int   // in all; default: no limit
}

// RegistrationCacheStats are the counters of a cache.
type RegistrationCacheStats struct {
	Hits        uint64 // calls of Register that found their memory registered
	Misses      uint64 // those that have registered it, or tried to
	Evictions   uint64 // idle registrations that were ended, for the limits, by Flush, or since the adapter had no room
	Refusals    uint64 // calls that failed since what is in use leaves no room
	Regions     int    // registrations, in use and idle
	IdleRegions int
	Bytes       int64 // of memory in them; what several have counts several times
	IdleBytes   int64
}

const (
	defaultIdleBytes   = 256 << 20
	defaultIdleRegions = 1024
)

// CreateRegistrationCache creates a cache for memory in a protection zone.
func CreateRegistrationCache(pz *udat.PZ, limits RegistrationCacheLimits) (*RegistrationCache, error) {
	if _, err := pz.Query(); err != nil {
		return nil, err
	}
	if limits.Bytes < 0 || limits.Regions < 0 {
		return nil, refuse(registerOp, udat.ErrInvalidParameter, udat.NoSubtype, "the limits are %d bytes and %d regions, they must be positive, or 0 for none", limits.Bytes, limits.Regions)
	}
	c := &RegistrationCache{pz: pz, limits: limits}
	c.cache = regcache.New(regcache.Limits{
		IdleBytes:   max(cmp.Or(limits.IdleBytes, defaultIdleBytes), 0),
		IdleRegions: max(cmp.Or(limits.IdleRegions, defaultIdleRegions), 0),
		Bytes:       cmp.Or(limits.Bytes, math.MaxInt64),
		Regions:     cmp.Or(limits.Regions, math.MaxInt),
	}, regcache.Backend[*udat.LMR]{Register: c.register, Free: freeUnlessGone, Scarce: func(err error) bool { return errors.Is(err, udat.ErrInsufficientResources) }})
	return c, nil
}

func (c *RegistrationCache) register(memory []byte, privileges uint32) (*udat.LMR, error) {
	return udat.RegisterMemory(c.pz, memory, udat.MemPriv(privileges))
}

// registrations returns what the cache consists of.
func (c *RegistrationCache) registrations() (*regcache.Cache[*udat.LMR], error) {
	if c == nil || c.cache == nil {
		return nil, refuse(registerOp, udat.ErrInvalidHandle, udat.NoSubtype, "the cache was not made by CreateRegistrationCache")
	}
	return c.cache, nil
}

// Register returns a registration of a slice's memory, up to its length, with at least the
// privileges: an existing one or a new one. Call Release after use. Registrations of the same
// memory that are in use at once are one.
//
// Idle registrations make room if the limits or the adapter have none. If those in use leave no
// room, Register fails with ErrInsufficientResources; otherwise with the errors of
// udat.RegisterMemory.
func (c *RegistrationCache) Register(memory []byte, privileges udat.MemPriv) (*Registration, error) {
	cache, err := c.registrations()
	if err != nil {
		return nil, err
	}
	if err := checkMemory(memory); err != nil {
		return nil, err
	}
	if err := checkPrivileges(privileges); err != nil {
		return nil, err
	}
	region, err := cache.Acquire(memory, uint32(privileges))
	if err != nil {
		return nil, c.toError(err)
	}
	if region.Value.Bytes() == nil { // it went with its adapter
		cache.Release(region)
		_, err := region.Value.Query()
		return nil, err
	}
	return &Registration{cache: cache, region: region, offset: region.Offset(memory), length: len(memory)}, nil
}

// toError turns an error of package regcache into one of udat.
func (c *RegistrationCache) toError(err error) error {
	var limit *regcache.LimitError
	switch {
	case err == regcache.ErrClosed:
		return closedError(registerOp, udat.NoSubtype, "the cache is already freed")
	case err == regcache.ErrInUse:
		return refuse(registerOp, udat.ErrInvalidState, udat.InvalidStateLMRInUse, "registrations of the cache are in use: release them first")
	case errors.As(err, &limit):
		return refuse(registerOp, udat.ErrInsufficientResources, udat.ResourceMemoryRegion,
			"%d bytes do not fit beside the %d bytes in %d regions that are in use: release registrations, or raise the limits of %s",
			limit.Size, limit.Stats.Bytes-limit.Stats.IdleBytes, limit.Stats.Regions-limit.Stats.IdleRegions, c.limits.describe())
	}
	return oneError(err)
}

func (l RegistrationCacheLimits) describe() string {
	switch {
	case l.Bytes == 0:
		return fmt.Sprintf("%d regions", l.Regions)
	case l.Regions == 0:
		return fmt.Sprintf("%d bytes", l.Bytes)
	}
	return fmt.Sprintf("%d bytes and %d regions", l.Bytes, l.Regions)
}

// Forget ends the idle registrations that include a byte of the memory: before the memory is
// unmapped, or to revoke the access of peers. It fails with ErrInvalidState if registrations of the
// memory are in use; these end when they are released.
func (c *RegistrationCache) Forget(memory []byte) error {
	cache, err := c.registrations()
	if err != nil {
		return err
	}
	if err := checkMemory(memory); err != nil {
		return err
	}
	return c.toError(oneError(cache.Forget(memory)))
}

// Flush ends all idle registrations and returns their number.
func (c *RegistrationCache) Flush() (freed int, err error) {
	cache, err := c.registrations()
	if err != nil {
		return 0, err
	}
	freed, err = cache.Flush()
	return freed, oneError(err)
}

// Stats returns the counters.
func (c *RegistrationCache) Stats() RegistrationCacheStats {
	cache, err := c.registrations()
	if err != nil {
		return RegistrationCacheStats{}
	}
	return RegistrationCacheStats(cache.Stats())
}

// Free ends all registrations. It fails with ErrInvalidState while some are in use, and with
// ErrClosed the second time. Free a cache before its protection zone; an adapter can be closed
// first, with CloseAbrupt.
func (c *RegistrationCache) Free() error {
	cache, err := c.registrations()
	if err != nil {
		return err
	}
	return c.toError(oneError(cache.Close()))
}

// Registration is memory that is registered from RegistrationCache.Register until Release. Any
// goroutine may call its methods. Offsets count from the beginning of the registered slice.
type Registration struct {
	cache          *regcache.Cache[*udat.LMR]
	region         *regcache.Region[*udat.LMR]
	offset, length int // in the region
	released       atomic.Bool
}

// Segment returns the piece of length bytes at offset, for posts until Release: later ones may fail
// with ErrClosed.
func (r *Registration) Segment(offset, length int) (udat.Segment, error) {
	const op = "Registration.Segment"
	switch {
	case r == nil || r.region == nil:
		return udat.Segment{}, refuse(op, udat.ErrInvalidHandle, udat.InvalidHandleLMR, "the registration was not made by RegistrationCache.Register")
	case r.released.Load():
		return udat.Segment{}, closedError(op, udat.InvalidHandleLMR, "the registration is already released")
	case offset < 0 || length < 0 || offset > r.length || length > r.length-offset:
		return udat.Segment{}, refuse(op, udat.ErrInvalidParameter, udat.InvalidArg2, "the piece of %d bytes at offset %d is not inside the registered %d bytes", length, offset, r.length)
	}
	return r.region.Value.Segment(r.offset+offset, length)
}

// RMRTriplet names the piece of length bytes at offset, for a peer to read or write until Release.
func (r *Registration) RMRTriplet(offset, length int) (udat.RMRTriplet, error) {
	if _, err := r.Segment(offset, length); err != nil {
		return udat.RMRTriplet{}, err
	}
	return r.region.Value.RMRTriplet(r.offset+offset, length)
}

// Release ends the use of the memory. The operations on it, those of the peer included, must be
// over: the cache may end the registration at any time, which ends the connections of operations
// that use it. It fails with ErrClosed the second time.
func (r *Registration) Release() error {
	const op = "dat_lmr_free"
	switch {
	case r == nil || r.region == nil:
		return refuse(op, udat.ErrInvalidHandle, udat.InvalidHandleLMR, "the registration was not made by RegistrationCache.Register")
	case r.released.Swap(true):
		return closedError(op, udat.InvalidHandleLMR, "the registration is already released")
	}
	r.cache.Release(r.region)
	return nil
}
