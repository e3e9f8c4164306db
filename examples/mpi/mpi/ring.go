package mpi

import (
	"encoding/binary"
	"hash/crc32"
)

// A ring is memory of the receiver in which one peer writes messages, one behind
// the other, by RDMA. The receiver learns of a message by looking at its memory,
// without any event, and clears what it has read, so that memory without a message
// has zeros.
//
// Each message is one RDMA write. Nobody says in which order the bytes of a write
// appear: kernels that play the adapter copy forwards, backwards, or in an order
// that the processor likes. So the first four bytes of a message are a checksum of
// the others, and a message is there when the checksum is right.
const (
	// ringUnit is what messages begin at multiples of, and have the length of multiples of.
	ringUnit = 64
	// checksumSize is the part of a header that the checksum does not cover.
	checksumSize = 4
)

// ringSize is the size of each ring in a world of so many ranks, a power of two.
func ringSize(ranks int) int {
	if ranks <= manyRanks {
		return 4096
	}
	return 1024
}

// ringSpace is how much of a ring a message takes.
func ringSpace(payload int) int {
	return (headerSize + payload + ringUnit - 1) &^ (ringUnit - 1)
}

// mostInRing is the longest payload that goes through a ring: four such messages
// fit at a time.
func mostInRing(size int) int { return size/4 - headerSize }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal writes the checksum of a message that is to go through a ring. Its space
// beyond the payload must be 0.
func seal(message []byte) {
	sum := crc32.Checksum(message[checksumSize:], castagnoli)
	binary.LittleEndian.PutUint32(message, sum)
}

// outRing is what the sender knows of a ring. Its counters count the bytes since
// the beginning, and wrap around.
type outRing struct {
	size     uint32
	written  uint32
	consumed uint32 // of them, those that the receiver has read, as far as it has told
}

// claim finds the place for a message of so much space. If it does not fit before
// the end of the ring it goes to the beginning, and a message of ringUnit bytes at
// skip, unless that is negative, must say so.
func (r *outRing) claim(space int) (at, skip int, ok bool) {
	n := uint32(space)
	at, skip = int(r.written&(r.size-1)), -1
	if rest := r.size - uint32(at); rest < n {
		n += rest
		at, skip = 0, at
	}
	if n > r.size-(r.written-r.consumed) {
		return 0, -1, false
	}
	r.written += n
	return at, skip, true
}

// free tells the sender how far the receiver has read. It reports false when that
// is impossible.
func (r *outRing) free(consumed uint32) bool {
	if r.written-consumed > r.size {
		return false
	}
	r.consumed = consumed
	return true
}

// inRing is a ring at its receiver.
type inRing struct {
	memory   []byte // whose size is a power of two
	words    words  // in which the memory is
	first    int    // of the words, the ring's first
	consumed uint32
	reported uint32 // of consumed, what the sender was told
}

// words are a udat.PeerWords, or memory in tests without a device.
type words interface{ Load(i int) uint64 }

// next returns the message that is next, nil when it is not there yet. One load gets
// all of the head that is needed.
func (r *inRing) next() []byte {
	at := int(r.consumed) & (len(r.memory) - 1)
	head := r.words.Load(r.first + at/8)
	if head == 0 {
		return nil
	}
	return r.whole(at, head)
}

// whole returns the message at a place if it is all there.
func (r *inRing) whole(at int, head uint64) []byte {
	var first [8]byte
	binary.NativeEndian.PutUint64(first[:], head)
	space := ringSpace(int(binary.LittleEndian.Uint16(first[4:])))
	if first[6] == 0 || space > len(r.memory)-at {
		return nil // the rest of the head is on its way
	}
	message := r.memory[at:][:space:space]
	if crc32.Checksum(message[checksumSize:], castagnoli) != binary.LittleEndian.Uint32(first[:]) {
		return nil
	}
	return message
}

// release clears the message that next has returned and goes on to the one behind it.
func (r *inRing) release(message []byte) {
	skips := messageKind(message[6]) == skipMessage
	clear(message)
	r.consumed += uint32(len(message))
	if skips {
		mask := uint32(len(r.memory) - 1)
		r.consumed = (r.consumed + mask) &^ mask
	}
}

// due reports whether the sender should hear how far the receiver is.
func (r *inRing) due() bool { return r.consumed-r.reported >= uint32(len(r.memory))/2 }
