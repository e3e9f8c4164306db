package mem

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/goudat/goudat/udat"
)

// PeerWords are words of eight bytes of registered memory that a peer writes by
// RDMA, to be polled. They are for messages that come to changing places, as in a
// ring; for a byte in a fixed place PeerByte is simpler. PeerWordsAt makes
// them. Their methods may be called from any goroutine; none crosses into C, nor
// allocates.
//
// Load reads a word as package sync/atomic does, so that the compiler reads it
// each time, and what the program reads afterwards is not older. That orders
// nothing at the adapter: a word that has changed does not tell that the words
// around it have. A message that the peer writes in one piece must show by itself
// that all of it is there, for example by a checksum. Adapters store aligned
// words at once as a rule, but no specification promises it, so that a checksum
// should cover the word that is polled, too.
type PeerWords struct {
	words []uint64
	lmr   *udat.LMR // which keeps the pages of the words mapped, see pages.Of
}

// peerWordSize is the number of bytes of a word, and what their addresses are
// multiples of.
const peerWordSize = 8

// PeerWordsAt returns the words of length bytes at offset of a region. It fails with
// ErrInvalidParameter if they are not inside the region, or if their address or length is not a
// multiple of 8. Memory from udat.AllocMemory starts at a multiple of 8. For the life of the memory
// see PeerByteAt.
func PeerWordsAt(lmr *udat.LMR, offset, length int) (PeerWords, error) {
	if _, err := lmr.Segment(offset, length); err != nil {
		return PeerWords{}, err
	}
	memory, err := watched(lmr)
	if err != nil {
		return PeerWords{}, err
	}
	start := unsafe.Pointer(unsafe.SliceData(memory[offset:]))
	address := uintptr(start)
	if address%peerWordSize != 0 || length%peerWordSize != 0 {
		return PeerWords{}, refuse("PeerWordsAt", udat.ErrInvalidParameter, udat.InvalidArg2,
			"the %d bytes at 0x%x are no whole words: begin and end at multiples of %d, in memory from AllocMemory for example", length, address, peerWordSize)
	}
	if length == 0 {
		return PeerWords{}, nil
	}
	return PeerWords{
		words: unsafe.Slice((*uint64)(start), length/peerWordSize),
		lmr:   lmr,
	}, nil
}

// Len returns the number of words.
func (w PeerWords) Len() int { return len(w.words) }

// Load returns word i, in the byte order of the processor. It panics if there is no such word.
func (w PeerWords) Load(i int) uint64 {
	word := atomic.LoadUint64(&w.words[i])
	runtime.KeepAlive(w.lmr)
	return word
}
