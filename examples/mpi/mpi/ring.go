package mpi

import (
	"encoding/binary"
	"hash/crc32"
)

// A ring is memory of the receiver in which one peer writes messages, one after another, by RDMA. The receiver finds
// a message by looking at the memory, without any event. It clears what it has read, so that memory without a message
// is zero.
//
// Each message is one RDMA write, whose bytes may appear in any order: kernels that act as the adapter copy forwards,
// backwards, or as the processor likes. So the first four bytes of a message are a checksum of the others, and a
// message is there when the checksum is right.
const (
	// ringUnit divides the offset and the length of each message.
	ringUnit = 64
	// checksumSize is the part of a header that the checksum does not cover.
	checksumSize = 4
)

// ringSize returns the size of each ring, a power of two, in a world of that many ranks.
func ringSize(ranks int) int {
	if ranks <= manyRanks {
		return 4096
	}
	return 1024
}

// ringSpace returns how much of a ring a message takes.
func ringSpace(payload int) int {
	return (headerSize + payload + ringUnit - 1) &^ (ringUnit - 1)
}

// mostInRing returns the longest payload that goes through a ring: four such messages fit at a time.
func mostInRing(size int) int { return size/4 - headerSize }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal writes the checksum of a message for a ring. The space after the payload must be 0.
func seal(message []byte) {
	sum := crc32.Checksum(message[checksumSize:], castagnoli)
	binary.LittleEndian.PutUint32(message, sum)
}

// outRing is the sender's view of a ring. Its counters count bytes since the connection began, and wrap around.
type outRing struct {
	size     uint32
	written  uint32
	consumed uint32 // how many of these the receiver has said that it has read
}

// claim reserves space for a message, and returns where it goes. If the message does not fit before the end of the
// ring, it goes to the beginning. The sender must then write a skip message of ringUnit bytes at skip, unless skip is
// negative.
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

// free records how far the receiver has read. It returns false if that is impossible.
func (r *outRing) free(consumed uint32) bool {
	if r.written-consumed > r.size {
		return false
	}
	r.consumed = consumed
	return true
}

// inRing is the receiver's view of a ring.
type inRing struct {
	memory   []byte // its size is a power of two
	words    words  // contains the memory
	first    int    // index of the ring's first word
	consumed uint32
	reported uint32 // how much of that the sender was told
}

// words is a mem.PeerWords, or memory in tests without a device.
type words interface{ Load(i int) uint64 }

// next returns the next message, or nil if it is not there yet. It loads the first word of the head once, which has
// all that is needed.
func (r *inRing) next() []byte {
	at := int(r.consumed) & (len(r.memory) - 1)
	head := r.words.Load(r.first + at/8)
	if head == 0 {
		return nil
	}
	return r.whole(at, head)
}

// whole returns the message at an offset if it has arrived completely.
func (r *inRing) whole(at int, head uint64) []byte {
	var first [8]byte
	binary.NativeEndian.PutUint64(first[:], head)
	space := ringSpace(int(binary.LittleEndian.Uint16(first[4:])))
	if first[6] == 0 || space > len(r.memory)-at {
		return nil // the rest of the head has not arrived
	}
	message := r.memory[at:][:space:space]
	if crc32.Checksum(message[checksumSize:], castagnoli) != binary.LittleEndian.Uint32(first[:]) {
		return nil
	}
	return message
}

// release clears the message that next has returned, and moves on to the one after it.
func (r *inRing) release(message []byte) {
	skips := messageKind(message[6]) == skipMessage
	clear(message)
	r.consumed += uint32(len(message))
	if skips {
		mask := uint32(len(r.memory) - 1)
		r.consumed = (r.consumed + mask) &^ mask
	}
}

// due reports whether the sender should be told how far the receiver has read.
func (r *inRing) due() bool { return r.consumed-r.reported >= uint32(len(r.memory))/2 }
