package mem

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/internal/pages"
)

// PeerByte is a byte of registered memory that a peer writes by RDMA, to be
// polled: the fastest way to learn that the peer has written. PeerByteAt makes
// it. Its methods may be called from any goroutine; none crosses into C, nor
// allocates.
//
// Do not read the byte from a slice in a loop: the compiler may read it once
// and loop forever, and nothing orders what the program reads after it. Load
// and SpinUntil read it as package sync/atomic does. Once the program has seen
// the byte, everything that the peer's adapter wrote before it is in the
// region's memory, and can be read in any way.
//
// # What the peer must do
//
// The byte must be the last that the peer writes, by an RDMA write of its own
// behind the others on the same connection: see udat.EP.PostBatch. Each time it must
// get another value than it had, as a count does.
//
// Adapters, and soft-RoCE, put one write after the other into memory. That is no
// promise of the specification: it only promises that the bytes of a write are
// there when a message that the peer sent after it, or its immediate data, has
// been received.
//
// Programs in C often poll the last byte of the write itself. It is the last to
// come with adapters that put the bytes of a write into memory in the order of
// their addresses. Soft-RoCE does not: on processors without fast short copies
// (FSRM), Linux 6.4 and later copies backwards now and then. A program that polls such a byte
// must be able to tell that the rest has come, by a checksum for example.
type PeerByte struct {
	word  *uint32   // that has the byte
	shift uint8     // that makes it the lowest of the word
	lmr   *udat.LMR // which keeps the pages of the word mapped, see pages.Of
}

// PeerByteAt returns the byte at offset of a region. The four bytes around it at a multiple of 4
// are read with it. It fails with ErrInvalidParameter if they are not in the region, which cannot
// happen with udat.AllocMemory. The peer may write them; a goroutine that writes them races with
// those that poll.
//
// A PeerByte stays usable if the memory is Go's or from udat.AllocMemory; other memory must stay
// mapped. The byte of a freed region does not change any more. Memory from udat.AllocMemory returns
// to the system when no PeerByte of it is reachable.
func PeerByteAt(lmr *udat.LMR, offset int) (PeerByte, error) {
	if _, err := lmr.Segment(offset, 1); err != nil {
		return PeerByte{}, err
	}
	memory, err := watched(lmr)
	if err != nil {
		return PeerByte{}, err
	}
	const wordSize = 4
	position := int(uintptr(unsafe.Pointer(&memory[offset])) % wordSize)
	start := offset - position
	if start < 0 || start > len(memory)-wordSize {
		return PeerByte{}, refuse("PeerByteAt", udat.ErrInvalidParameter, udat.InvalidArg2,
			"the four bytes around the one at offset %d are not inside the region of %d bytes at %p: register memory that begins and ends at multiples of 4, as that of AllocMemory does",
			offset, len(memory), &memory[0])
	}
	return PeerByte{
		word:  (*uint32)(unsafe.Pointer(&memory[start])),
		shift: byteShift(position),
		lmr:   lmr,
	}, nil
}

// watched returns the memory of a region for those that look at it while it may be freed.
func watched(lmr *udat.LMR) ([]byte, error) {
	memory := pages.Of(lmr)
	if memory == nil {
		memory = lmr.Bytes()
	}
	if memory == nil {
		_, err := lmr.Query()
		return nil, err
	}
	return memory, nil
}

// byteShift returns how far a byte of a word must be shifted to be its lowest.
func byteShift(position int) uint8 {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return uint8(8 * position)
	}
	return uint8(8 * (3 - position))
}

// Load returns the byte, 0 for a zero PeerByte.
func (b PeerByte) Load() byte {
	if b.word == nil {
		return 0
	}
	word := atomic.LoadUint32(b.word)
	runtime.KeepAlive(b.lmr)
	return byte(word >> (b.shift & 31))
}

// Store sets the byte, to a value that the peer will not write. The peer must not write it, or the
// three around it, meanwhile. On a zero PeerByte Store does nothing.
func (b PeerByte) Store(value byte) {
	if b.word == nil {
		return
	}
	for {
		old := atomic.LoadUint32(b.word)
		word := old&^(0xff<<b.shift) | uint32(value)<<b.shift
		if atomic.CompareAndSwapUint32(b.word, old, word) {
			runtime.KeepAlive(b.lmr)
			return
		}
	}
}

// SpinUntil polls until the byte is value, for up to budget, 0 to a second, and reports whether it
// is. It keeps a processor busy, and lets other goroutines run now and then, and after a budget in
// vain. It cannot notice that the peer is gone: with budgets of about a millisecond, check between
// them whether the connection has ended. It fails with ErrClosed if the region is freed.
func (b PeerByte) SpinUntil(value byte, budget time.Duration) (bool, error) {
	if budget < 0 || budget > time.Second {
		return false, refuse("PeerByte.SpinUntil", udat.ErrInvalidParameter, udat.InvalidArg2, "the time to spin is %v, it must be 0 to a second", budget)
	}
	begin := time.Duration(-1)
	for b.lmr.Bytes() != nil {
		if b.look(value) {
			return true, nil
		}
		if budget == 0 { // no need for the clock
			runtime.Gosched()
			return b.Load() == value, nil
		}
		now := time.Since(epoch)
		if begin < 0 {
			begin = now
		}
		if over := now-begin >= budget; over || now-time.Duration(lastYield.Load()) >= spinSlice {
			lastYield.Store(int64(now))
			runtime.Gosched()
			if over {
				return b.Load() == value, nil
			}
		}
	}
	_, err := b.lmr.Query()
	return false, err
}

// spinSlice is how long goroutines that spin keep their processors from others: half of the
// 10 ms after which Go's runtime takes a processor away.
const spinSlice = 5 * time.Millisecond

var (
	epoch     = time.Now()
	lastYield atomic.Int64 // when a spinning goroutine last let others run, after epoch
)

// looksAtOnce is how often a loop looks before it reads the clock. A look takes
// 0.5 ns, and the clock 28.
const looksAtOnce = 1024

// look looks a number of times, until the byte is value. Four looks in a row
// take as long as C's loop, one in a row twice as long.
func (b PeerByte) look(value byte) bool {
	word, mask, wanted := b.word, uint32(0xff)<<(b.shift&31), uint32(value)<<(b.shift&31)
	for range looksAtOnce / 4 {
		switch wanted {
		case atomic.LoadUint32(word) & mask, atomic.LoadUint32(word) & mask, atomic.LoadUint32(word) & mask, atomic.LoadUint32(word) & mask:
			return true
		}
	}
	return false
}
