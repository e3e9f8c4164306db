package mem

import (
	"errors"
	"math"
	"unsafe"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem/internal/bufferpool"
)

// BufferPool is a pool of registered buffers of one size, for messages that are copied, headers and
// receives. It registers many buffers at once when they are needed, up to a limit. Any goroutine
// may call its methods. The buffers are Go memory: a slice that the program keeps after
// Buffer.Release, or after the pool's Free, stays valid memory.
type BufferPool struct {
	pz     *udat.PZ
	config BufferPoolConfig
	stride int
	slabs  *bufferpool.Pool[*slab] // nil in a zero BufferPool
}

// slab is a region that several buffers are in.
type slab struct {
	lmr    *udat.LMR
	base   int // of the first buffer, from the beginning of the region
	memory []byte
}

// BufferPoolConfig describes a pool. BufferSize and MaxBuffers must be positive; other zero fields
// mean the default.
type BufferPoolConfig struct {
	BufferSize  int          // bytes of each buffer
	MaxBuffers  int          // how many there may be
	SlabBuffers int          // how many are registered at once; default: as many as have 256 KiB
	Privileges  udat.MemPriv // default: MemPrivLocalRead and MemPrivLocalWrite
}

// BufferPoolStats are the counters of a pool.
type BufferPoolStats struct {
	Gets      uint64 // calls of Get that returned a buffer
	Refusals  uint64 // those that found MaxBuffers in use
	InUse     int    // buffers between Get and Release
	MostInUse int    // most of them at a time
	Buffers   int    // registered, in use or not
	Regions   int    // registrations that they are in
}

const (
	// bufferAlignment keeps two buffers out of one cache line.
	bufferAlignment = 64
	slabBytes       = 256 << 10
	mostBuffers     = math.MaxInt32 // that a cookie has room for
)

// CreateBufferPool creates a pool in a protection zone. It registers nothing yet.
func CreateBufferPool(pz *udat.PZ, config BufferPoolConfig) (*BufferPool, error) {
	if _, err := pz.Query(); err != nil {
		return nil, err
	}
	if config.Privileges == 0 {
		config.Privileges = udat.MemPrivLocalRead | udat.MemPrivLocalWrite
	}
	const mostBytes = (math.MaxUint32 & math.MaxInt) / bufferAlignment * bufferAlignment // of the longest segment that is aligned
	switch {
	case config.BufferSize <= 0 || config.BufferSize > mostBytes:
		return nil, refuse(registerOp, udat.ErrInvalidParameter, udat.InvalidArg4, "BufferSize is %d, it must be 1 to %d", config.BufferSize, mostBytes)
	case config.MaxBuffers <= 0 || config.MaxBuffers > mostBuffers:
		return nil, refuse(registerOp, udat.ErrInvalidParameter, udat.NoSubtype, "MaxBuffers is %d, it must be 1 to %d", config.MaxBuffers, mostBuffers)
	case config.SlabBuffers < 0:
		return nil, refuse(registerOp, udat.ErrInvalidParameter, udat.NoSubtype, "SlabBuffers is %d, it must be positive, or 0 for the default", config.SlabBuffers)
	}
	if err := checkPrivileges(config.Privileges); err != nil {
		return nil, err
	}
	p := &BufferPool{pz: pz, stride: (config.BufferSize + bufferAlignment - 1) / bufferAlignment * bufferAlignment}
	if config.SlabBuffers == 0 {
		config.SlabBuffers = max(slabBytes/p.stride, 1)
	}
	config.SlabBuffers = min(config.SlabBuffers, config.MaxBuffers)
	if config.SlabBuffers > mostBytes/p.stride {
		return nil, refuse(registerOp, udat.ErrInvalidParameter, udat.NoSubtype, "SlabBuffers is %d, of %d bytes each no more than %d can be registered at once", config.SlabBuffers, p.stride, mostBytes/p.stride)
	}
	p.config = config
	p.slabs = bufferpool.New(config.MaxBuffers, config.SlabBuffers, bufferpool.Backend[*slab]{Make: p.makeSlab, Free: func(s *slab) error { return freeUnlessGone(s.lmr) }})
	return p, nil
}

func (p *BufferPool) makeSlab(buffers int) (*slab, error) {
	memory := make([]byte, buffers*p.stride+bufferAlignment-1)
	base := int(-uintptr(unsafe.Pointer(&memory[0])) % bufferAlignment)
	lmr, err := udat.RegisterMemory(p.pz, memory, p.config.Privileges)
	if err != nil {
		return nil, err
	}
	return &slab{lmr, base, memory}, nil
}

// freeUnlessGone ignores regions that were freed with their adapter.
func freeUnlessGone(lmr *udat.LMR) error {
	if err := lmr.Free(); !errors.Is(err, udat.ErrClosed) {
		return err
	}
	return nil
}

// pool returns what the pool consists of.
func (p *BufferPool) pool() (*bufferpool.Pool[*slab], error) {
	if p == nil || p.slabs == nil {
		return nil, refuse(registerOp, udat.ErrInvalidHandle, udat.NoSubtype, "the pool was not made by CreateBufferPool")
	}
	return p.slabs, nil
}

// Get takes a buffer out of the pool, with the contents of its last use. It registers memory if all
// buffers are in use, which takes time; otherwise it does not allocate. It fails with
// ErrInsufficientResources if BufferPoolConfig.MaxBuffers are in use, and with the errors of
// udat.RegisterMemory.
func (p *BufferPool) Get() (Buffer, error) {
	slabs, err := p.pool()
	if err != nil {
		return Buffer{}, err
	}
	handle, err := slabs.Get()
	if err != nil {
		return Buffer{}, p.toError(err)
	}
	b := Buffer{p, handle}
	if s, _ := handle.Slab(); s.lmr.Bytes() == nil { // it went with its adapter
		_ = b.Release()
		_, err := s.lmr.Query()
		return Buffer{}, err
	}
	return b, nil
}

// Find returns the buffer with a Cookie, such as that of a completion. It fails with ErrClosed if
// the buffer was released.
func (p *BufferPool) Find(cookie uint64) (Buffer, error) {
	slabs, err := p.pool()
	if err != nil {
		return Buffer{}, err
	}
	handle, err := slabs.Find(cookie)
	if err != nil {
		return Buffer{}, p.toError(err)
	}
	return Buffer{p, handle}, nil
}

// toError turns an error of package bufferpool into one of udat.
func (p *BufferPool) toError(err error) error {
	switch {
	case err == bufferpool.ErrClosed:
		return closedError(registerOp, udat.NoSubtype, "the pool is already freed")
	case err == bufferpool.ErrStale:
		return closedError(registerOp, udat.NoSubtype, "the buffer is already released, or was never one of this pool")
	case err == bufferpool.ErrExhausted:
		return refuse(registerOp, udat.ErrInsufficientResources, udat.ResourceMemory,
			"all %d buffers of the pool are in use: release some, or make a pool with a larger MaxBuffers", p.config.MaxBuffers)
	case err == bufferpool.ErrInUse:
		return refuse(registerOp, udat.ErrInvalidState, udat.InvalidStateLMRInUse, "%d buffers of the pool are in use: release them first", p.slabs.Stats().InUse)
	}
	return err
}

// Trim ends registrations without buffers in use, and keeps at least keep unused buffers. It
// returns the number of buffers that it freed.
func (p *BufferPool) Trim(keep int) (freed int, err error) {
	slabs, err := p.pool()
	if err != nil {
		return 0, err
	}
	freed, err = slabs.Trim(keep)
	return freed, oneError(err)
}

// Stats returns the counters.
func (p *BufferPool) Stats() BufferPoolStats {
	slabs, err := p.pool()
	if err != nil {
		return BufferPoolStats{}
	}
	s := slabs.Stats()
	return BufferPoolStats{Gets: s.Gets, Refusals: s.Refusals, InUse: s.InUse, MostInUse: s.MostInUse, Buffers: s.Buffers, Regions: s.Slabs}
}

// Free ends all registrations. It fails with ErrInvalidState while buffers are in use, and with
// ErrClosed the second time. Free a pool before its protection zone; an adapter can be closed
// first, with CloseAbrupt.
func (p *BufferPool) Free() error {
	slabs, err := p.pool()
	if err != nil {
		return err
	}
	return p.toError(oneError(slabs.Close()))
}

// oneError returns the first of several errors that were joined, since each says
// all there is to say.
func oneError(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()[0]
	}
	return err
}

// Buffer is a buffer of a BufferPool, valid from Get until Release. Any copy of it may call
// Release. Any goroutine may call its methods. The zero Buffer behaves like a released one.
type Buffer struct {
	pool   *BufferPool
	handle bufferpool.Handle[*slab]
}

// place returns where the buffer is.
func (b Buffer) place() (lmr *udat.LMR, offset int, err error) {
	if !b.handle.Valid() {
		return nil, 0, closedError("Buffer.Segment", udat.NoSubtype, "the buffer is already released")
	}
	s, number := b.handle.Slab()
	return s.lmr, s.base + number*b.pool.stride, nil
}

// Bytes returns the memory of the buffer, or nil if the buffer is released.
func (b Buffer) Bytes() []byte {
	if !b.handle.Valid() {
		return nil
	}
	s, number := b.handle.Slab()
	start := s.base + number*b.pool.stride
	end := start + b.pool.config.BufferSize
	return s.memory[start:end:end]
}

// inside checks a piece of the buffer and returns where it is in the region.
func (b Buffer) inside(offset, length int) (lmr *udat.LMR, begin int, err error) {
	lmr, base, err := b.place()
	if err != nil {
		return nil, 0, err
	}
	if size := b.pool.config.BufferSize; offset < 0 || length < 0 || offset > size || length > size-offset {
		return nil, 0, refuse("Buffer.Segment", udat.ErrInvalidParameter, udat.InvalidArg2, "the piece of %d bytes at offset %d is not inside the buffer of %d bytes", length, offset, size)
	}
	return lmr, base + offset, nil
}

// Segment returns the piece of length bytes at offset.
func (b Buffer) Segment(offset, length int) (udat.Segment, error) {
	lmr, begin, err := b.inside(offset, length)
	if err != nil {
		return udat.Segment{}, err
	}
	return lmr.Segment(begin, length)
}

// RMRTriplet names the piece of length bytes at offset for a peer. The pool needs the remote
// privileges for that. The peer can reach the memory as long as the pool lives, whatever happens to
// the buffer.
func (b Buffer) RMRTriplet(offset, length int) (udat.RMRTriplet, error) {
	lmr, begin, err := b.inside(offset, length)
	if err != nil {
		return udat.RMRTriplet{}, err
	}
	return lmr.RMRTriplet(begin, length)
}

// PeerByte returns the byte at offset for polling: see PeerByteAt.
func (b Buffer) PeerByte(offset int) (PeerByte, error) {
	lmr, begin, err := b.inside(offset, 1)
	if err != nil {
		return PeerByte{}, err
	}
	return PeerByteAt(lmr, begin)
}

// PeerWords returns the words of length bytes at offset for polling: see PeerWordsAt.
func (b Buffer) PeerWords(offset, length int) (PeerWords, error) {
	lmr, begin, err := b.inside(offset, length)
	if err != nil {
		return PeerWords{}, err
	}
	return PeerWordsAt(lmr, begin, length)
}

// Cookie returns a number for BufferPool.Find. Post operations on the buffer with it: their
// completions lead back to the buffer. It changes with each Get, and is 0 only for the zero Buffer.
func (b Buffer) Cookie() uint64 {
	if b == (Buffer{}) {
		return 0
	}
	return b.handle.Cookie()
}

// Release returns the buffer to the pool. The operations on it must be over: the next user of the
// buffer writes to its memory. It fails with ErrClosed the second time.
func (b Buffer) Release() error {
	if b == (Buffer{}) {
		return closedError(registerOp, udat.NoSubtype, "the buffer is already released")
	}
	return b.pool.toError(b.pool.slabs.Put(b.handle))
}
