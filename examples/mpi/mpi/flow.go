package mpi

import (
	"encoding/binary"
	"hash/crc32"
	"sync/atomic"
	"unsafe"
)

// flow is what the receiver of a connection allows its sender. Both count since
// the beginning, and wrap around. It goes along in the header of each message,
// and where there is none to send, by an RDMA write into the sender's memory:
// what is later says all that was said before.
type flow struct {
	consumed uint32 // bytes of the ring that were read
	granted  uint32 // messages that may come to the shared receive queue
}

// later reports whether a counter is ahead of another one.
func later(a, b uint32) bool { return int32(a-b) > 0 }

// A line is memory of a rank that a peer writes in one piece, without asking, to
// tell what does not wait for room in the ring. Its last word, the stamp, has a
// checksum: nobody says in which order the bytes of a write appear, and over iWARP,
// where they come in a stream, it may be a part of them first.
type line struct {
	flow flow
	// notice is one of the values below, and with noticeDeath the rank that has died.
	notice uint32
	rank   uint32
	// full says that the sender is to offer its messages instead of sending them.
	full bool
	doze doze
}

// says returns the line without what is no reason to stay awake: that the peer sleeps.
func (l line) says() line {
	l.doze = doze{}
	return l
}

const (
	_ = iota // no notice
	// noticeGoodbye says that all ranks are closing their worlds.
	noticeGoodbye
	// noticeDeath names a rank that has died.
	noticeDeath
)

const (
	// lineSize is that of a line, and of what is written: three words, and the stamp.
	lineSize = 32
	// lineSpace keeps lines and rings on cache lines of their own.
	lineSpace = 64
	// The last word of that space is never written: peers read it to see that
	// what they have written before is there.
	restAt, restSize = lineSpace - 8, 8

	fullBit = 1 << 31
)

// put writes the line to b, word by word: the adapter may be reading it. count is
// how many lines were written before.
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
	l.doze.put(text[16:])
	le.PutUint32(text[stampAt+4:], count<<1|1) // so that no stamp is 0
	le.PutUint32(text[stampAt:], lineSum(&text))
	for i := range lineSize / 8 {
		atomic.StoreUint64(word(b, i), binary.NativeEndian.Uint64(text[8*i:]))
	}
}

// stampAt is where in the line the stamp begins, which is a checksum of the words
// before it and of the count behind it.
const stampAt = lineSize - 8

func lineSum(text *[lineSize]byte) uint32 {
	sum := crc32.Update(0, castagnoli, text[:stampAt])
	return crc32.Update(sum, castagnoli, text[stampAt+4:])
}

// lineWords are those that a line consists of.
type lineWords [lineSize / 8]uint64

// parseLine reads them. It reports false when they are not those of one line.
func parseLine(words lineWords) (l line, whole bool) {
	var text [lineSize]byte
	for i, w := range words {
		binary.NativeEndian.PutUint64(text[8*i:], w)
	}
	le := binary.LittleEndian
	if le.Uint32(text[stampAt:]) != lineSum(&text) {
		return line{}, false
	}
	l.doze = parseDoze(text[16:])
	l.flow = flow{le.Uint32(text[0:]), le.Uint32(text[4:])}
	l.notice, l.rank = le.Uint32(text[8:]), le.Uint32(text[12:])
	l.full = l.notice&fullBit != 0
	l.notice &^= fullBit
	return l, true
}

// word is one of those that memory at a multiple of 8 consists of.
func word(b []byte, i int) *uint64 { return (*uint64)(unsafe.Pointer(&b[8*i])) }
