package mpi

import (
	"encoding/binary"
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
// tell what does not wait for room in the ring.
type line struct {
	flow flow
	// notice is one of the values below, and with noticeDeath the rank that has died.
	notice uint32
	rank   uint32
	// full says that the sender is to offer its messages instead of sending them.
	full bool
	doze doze
}

const (
	_ = iota // no notice
	// noticeGoodbye says that all ranks are closing their worlds.
	noticeGoodbye
	// noticeDeath names a rank that has died.
	noticeDeath
)

const (
	// lineSize is that of a line, and of what is written: three words.
	lineSize = 24
	// lineSpace keeps lines and rings on cache lines of their own.
	lineSpace = 64

	fullBit = 1 << 31
)

// put writes the line to b, word by word: the adapter may be reading it.
func (l line) put(b []byte) {
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
	for i := range lineSize / 8 {
		atomic.StoreUint64(word(b, i), binary.NativeEndian.Uint64(text[8*i:]))
	}
}

// lineWords are those that a line consists of.
type lineWords [lineSize / 8]uint64

// parseLine reads them.
func parseLine(words lineWords) (l line) {
	var text [lineSize]byte
	for i, w := range words {
		binary.NativeEndian.PutUint64(text[8*i:], w)
	}
	le := binary.LittleEndian
	l.doze = parseDoze(text[16:])
	l.flow = flow{le.Uint32(text[0:]), le.Uint32(text[4:])}
	l.notice, l.rank = le.Uint32(text[8:]), le.Uint32(text[12:])
	l.full = l.notice&fullBit != 0
	l.notice &^= fullBit
	return l
}

// word is one of those that memory at a multiple of 8 consists of.
func word(b []byte, i int) *uint64 { return (*uint64)(unsafe.Pointer(&b[8*i])) }
