//go:build linux

package soak

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The traffic of one direction of one connection is a sequence of numbered
// requests. Kind, length and content of each follow from the key of the traffic
// and the number, so that whoever knows the key can check what arrives.
const (
	window = 8  // requests outstanding at a time
	posted = 16 // receives

	slotSize  = 8 << 10
	leastSize = 16

	// RDMA writes land in slots by turns. Each second request at least is a send,
	// and no more of those succeed than receives are posted: until the receiver
	// has looked at a message, nothing lands on the writes before it.
	landing = 2*posted + 2*window

	exposedSize = 4 * slotSize // what the peer's RDMA reads find
)

// The memory of an end, by what it is for. It begins with a slot for each
// request that is outstanding.
const (
	receivesAt = window * slotSize
	landingAt  = receivesAt + posted*slotSize
	exposedAt  = landingAt + landing*slotSize
	memorySize = exposedAt + exposedSize
)

type kind int

const (
	send kind = iota
	rdmaWrite
	rdmaRead
)

// key names the traffic of one direction in one life of a connection.
type key uint64

// request gives what the request of a number is. Offset is that of an RDMA read
// in the memory that is exposed to it.
func (k key) request(number int) (what kind, offset, length int) {
	h := mix(uint64(k) ^ mix(uint64(number)))
	length = leastSize + int(h%240)
	if h>>8%8 == 0 {
		length = leastSize + int(h>>16%(slotSize-leastSize+1))
	}
	if number%2 == 1 {
		what = []kind{send, rdmaWrite, rdmaWrite, rdmaRead}[h>>32%4]
	}
	if what == rdmaRead {
		offset = int(h>>40%uint64((exposedSize-length)/8)) * 8
	}
	return what, offset, length
}

// exposed is the number that stands for the memory that the peer reads.
const exposed = -1

// fill writes the content of a request, from an offset on that is a multiple
// of 8.
func (k key) fill(b []byte, number, offset int) {
	word := mix(uint64(k)^mix(uint64(number))) + uint64(offset/8)*step
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, word)
		b, word = b[8:], word+step
	}
	for i := range b {
		b[i] = byte(word >> (8 * i))
	}
}

// step makes that no two words of a content are alike.
const step = 0x9e3779b97f4a7c15

// mix gives for each number one that looks unlike it.
func mix(x uint64) uint64 {
	x = (x ^ x>>31) * step
	return (x ^ x>>29) * 0xbf58476d1ce4e5b9
}

// check compares what has arrived with the content of a request.
func (k key) check(what string, b []byte, number, offset int) error {
	var scratch [slotSize]byte
	want := scratch[:len(b)]
	k.fill(want, number, offset)
	if bytes.Equal(b, want) {
		return nil
	}
	at := 0
	for b[at] == want[at] {
		at++
	}
	return fmt.Errorf("%s of request %d, %d bytes, differs from byte %d on: % x, want % x",
		what, number, len(b), at, b[at:min(at+16, len(b))], want[at:min(at+16, len(b))])
}
