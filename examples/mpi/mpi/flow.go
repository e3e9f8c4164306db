package mpi

import (
	"encoding/binary"
	"hash/crc32"
	"sync/atomic"
	"unsafe"
)

// flow is what the receiver of a connection allows its sender. Both counters start with the connection and wrap
// around. The flow travels in the header of each message, or, if there is no message to send, in an RDMA write into
// the sender's memory. A later flow includes all earlier ones.
type flow struct {
	consumed uint32 // bytes of the ring that the receiver has read
	granted  uint32 // messages that may come to the shared receive queue
}

// later reports whether counter a is ahead of counter b.
func later(a, b uint32) bool { return int32(a-b) > 0 }

// A line is memory of a rank that a peer writes at any time, in one piece, for news that cannot wait for room in the
// ring. Its last word, the stamp, has a checksum, because the bytes of a write may appear in any order. Over iWARP,
// where the bytes come in a stream, a part of them may appear first.
type line struct {
	flow flow
	// notice is one of the constants below. rank is the rank that has died, for noticeDeath.
	notice uint32
	rank   uint32
	// full says that the peer must offer its messages instead of sending them.
	full bool
	doze doze
}

// says returns the line without what it says about sleep: that the peer sleeps is no reason to stay awake.
func (l line) says() line {
	l.doze = doze{}
	return l
}

const (
	_ = iota // no notice
	// noticeDeath names a rank that has died.
	noticeDeath
	// noticeLauncher says that the launcher has gone.
	noticeLauncher
)

const (
	// lineSize is the size of a line, and of each write of it: three words and the stamp.
	lineSize = 32
	// lineSpace keeps lines and rings on cache lines of their own.
	lineSpace = 64
	// The last word of that space is never written. Ranks read a peer's word by RDMA to learn that their earlier
	// writes have arrived.
	restAt, restSize = lineSpace - 8, 8

	fullBit = 1 << 31
)

// put writes the line to b word by word, since the adapter may be reading it. count is how many lines were written
// before.
func (l line) put(b []byte, count uint32) {
	var text [lineSize]byte
	le := binary.LittleEndian
	le.PutUint32(text[0:], l.flow.consumed)
	le.PutUint32(text[4:], l.flow.granted)
	notice := l.notice
	if l.full {
		notice |= fullBit
	}
	le.PutUint32(text[8:], notice)
	le.PutUint32(text[12:], l.rank)
	le.PutUint32(text[16:], l.doze.sent)
	if l.doze.asleep {
		text[20] = 1
	}
	le.PutUint32(text[stampAt+4:], count<<1|1) // so that no stamp is 0
	le.PutUint32(text[stampAt:], lineSum(&text))
	for i := range lineSize / 8 {
		atomic.StoreUint64(word(b, i), binary.NativeEndian.Uint64(text[8*i:]))
	}
}

// stampAt is where the stamp begins in the line. It consists of a checksum and a count. The checksum covers the words
// before it and the count.
const stampAt = lineSize - 8

func lineSum(text *[lineSize]byte) uint32 {
	sum := crc32.Update(0, castagnoli, text[:stampAt])
	return crc32.Update(sum, castagnoli, text[stampAt+4:])
}

// lineWords are the words of a line.
type lineWords [lineSize / 8]uint64

// parseLine decodes a line. It returns false if the words do not belong to one line.
func parseLine(words lineWords) (l line, whole bool) {
	var text [lineSize]byte
	for i, w := range words {
		binary.NativeEndian.PutUint64(text[8*i:], w)
	}
	le := binary.LittleEndian
	if le.Uint32(text[stampAt:]) != lineSum(&text) {
		return line{}, false
	}
	l.doze = doze{text[20] != 0, le.Uint32(text[16:])}
	l.flow = flow{le.Uint32(text[0:]), le.Uint32(text[4:])}
	l.notice, l.rank = le.Uint32(text[8:]), le.Uint32(text[12:])
	l.full = l.notice&fullBit != 0
	l.notice &^= fullBit
	return l, true
}

// word returns a pointer to word i of b, which must be aligned to 8 bytes.
func word(b []byte, i int) *uint64 { return (*uint64)(unsafe.Pointer(&b[8*i])) }
