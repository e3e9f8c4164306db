package mpi

import (
	"math/bits"
	"slices"
	"unsafe"
)

// scratch is memory for what collective operations receive and combine on the way to their results. The World keeps
// it for later operations: memory that is used again is registered already.
type scratch struct {
	idle [][]uint64 // the one that went back last is taken first, so that the next operation finds the same memory
	kept int        // bytes of idle
}

// keptScratch is how many bytes of scratch stay with the World while no operation uses them.
const keptScratch = 16 << 20

// scratchFor returns memory for n numbers, with any contents. It goes back when the operation is done.
func scratchFor[T Number](s *schedule, n int) []T {
	size := n * int(unsafe.Sizeof(*new(T)))
	if size <= eagerLimit {
		return make([]T, n) // it is copied to be sent, and needs no registration
	}
	w := s.comm.world
	w.mu.Lock()
	defer w.mu.Unlock()
	block := w.scratch.take(size)
	s.scratch = append(s.scratch, block)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(block))), n)
}

// take returns a block of at least that many bytes. All blocks have a power of two, so that they fit later operations.
func (s *scratch) take(size int) []uint64 {
	words := 1 << bits.Len(uint((size-1)/8))
	for i, block := range slices.Backward(s.idle) {
		if len(block) == words {
			s.idle = slices.Delete(s.idle, i, i+1)
			s.kept -= 8 * words
			return block
		}
	}
	return make([]uint64, words)
}

// put takes a block back.
func (s *scratch) put(block []uint64) {
	if size := 8 * len(block); s.kept+size <= keptScratch {
		s.idle = append(s.idle, block)
		s.kept += size
	}
}
