package mpi

import (
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

// Registered memory is allocated in blocks, because each registration costs resources of the adapter and the system.

// area is the memory of a connection. The peer writes one half of it: a line and a ring. The other half has what this
// rank writes to the same places in the peer's area. Its contents stay unchanged for as long as they are in the
// peer's ring, which is longer than the adapter needs them.
type area struct {
	block  *udat.LMR
	offset int           // of the peer's half; this rank's half follows
	half   int           // size of each
	words  mem.PeerWords // of the peer's half
}

func areaHalf(ranks int) int { return lineSpace + ringSize(ranks) }

// theirs returns the half that the peer writes, and ours the half that this rank writes.
func (a area) theirs() []byte { return a.block.Bytes()[a.offset:][:a.half:a.half] }
func (a area) ours() []byte   { return a.block.Bytes()[a.offset+a.half:][:a.half:a.half] }

// segment returns a piece of this rank's half.
func (a area) segment(at, length int) (udat.Segment, error) {
	return a.block.Segment(a.offset+a.half+at, length)
}

// triplet describes the peer's half to the peer.
func (a area) triplet() (udat.RMRTriplet, error) { return a.block.RMRTriplet(a.offset, a.half) }

// areasAtOnce is how many areas a block has.
const areasAtOnce = 8

// areas are those that are free. They are allocated in blocks.
type areas struct{ free []area }

func (s *areas) get(pz *udat.PZ, half, ranks int) (area, error) {
	if len(s.free) == 0 {
		n := min(areasAtOnce, ranks)
		block, err := udat.AllocMemory(pz, n*2*half, udat.MemPrivAll)
		if err != nil {
			return area{}, err
		}
		for i := range n {
			a := area{block: block, offset: 2 * i * half, half: half}
			if a.words, err = mem.PeerWordsAt(block, a.offset, half); err != nil {
				return area{}, err
			}
			s.free = append(s.free, a)
		}
	}
	a := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return a, nil
}

// eagerLimit is how many bytes of numbers an eager message can have. With 8 KiB, a round trip over soft-RoCE takes half as
// long as with an offer. A limit of 32 KiB would also pay, but each receive would take that much memory.
const eagerLimit = 8192

// slotSize is the size of an eager message with its header.
const slotSize = eagerLimit + headerSize

// slots are buffers for eager messages.
type slots []mem.Buffer

func newSlots(pool *mem.BufferPool, n int) (slots, error) {
	var s slots
	for range n {
		b, err := pool.Get()
		if err != nil {
			return s, err
		}
		s = append(s, b)
	}
	return s, nil
}

// staging is the memory that eager messages are copied to and sent from. Each slot is free again when its send is
// complete.
type staging struct {
	slots
	free []int
}

// stagingSlots is how many eager messages of this rank can be under way.
const stagingSlots = 32

// take returns a slot that was free.
func (s *staging) take() int {
	n := len(s.free)
	slot := s.free[n-1]
	s.free = s.free[:n-1]
	return slot
}

// registration is memory of the program that is registered for a long message.
type registration struct {
	*mem.Registration
	length int
}

// keptRegistered is how many bytes of the program's memory stay registered for its next messages. The garbage
// collector cannot free this memory until other memory replaces it.
const keptRegistered = 64 << 20

// register registers memory to send a message from or to receive one in, unless it still is registered.
func (w *World) register(memory []byte) (*registration, error) {
	privileges := udat.MemPrivLocalRead | udat.MemPrivLocalWrite | udat.MemPrivRemoteRead
	if w.iwarp {
		privileges |= udat.MemPrivRemoteWrite // adapters may require it of memory that is read into
	}
	r, err := w.registrations.Register(memory, privileges)
	if err != nil {
		return nil, err
	}
	return &registration{r, len(memory)}, nil
}

// triplet describes all of the memory to the peer.
func (r *registration) triplet() (udat.RMRTriplet, error) {
	if r == nil {
		return udat.RMRTriplet{}, nil
	}
	return r.RMRTriplet(0, r.length)
}

// release says that the memory is no longer needed.
func (r *registration) release() error {
	if r == nil {
		return nil
	}
	return r.Release()
}
