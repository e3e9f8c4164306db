//go:build linux

package soak

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
)

// The traffic in one direction of a connection is a sequence of numbered requests. The key of the traffic and the
// number determine each request's kind, length and content. Whoever knows the key can check what arrives.
const (
	window = 8  // outstanding requests
	posted = 16 // receives

	slotSize  = 8 << 10
	leastSize = 16

	// RDMA writes land in slots by turns. At least every second request is a send, and only as many sends succeed as
	// receives are posted. So nothing overwrites the writes before a message until the receiver has checked it.
	landing = 2*posted + 2*window

	exposedSize = 4 * slotSize // for the peer's RDMA reads
)

// The layout of an end's memory. It begins with a slot for each outstanding request.
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

// request returns the request with a number. Its offset is that of an RDMA read in the exposed memory.
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
		// Soft-iWARP cannot read so few bytes over the end of a page.
		if page := os.Getpagesize(); length <= 32 && offset%page+length > page {
			offset -= 32
		}
	}
	return what, offset, length
}

// exposed is the number of the request whose content is the memory that the peer reads.
const exposed = -1

// fill writes the content of a request, from an offset that is a multiple of 8.
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

// step makes all words of a content different.
const step = 0x9e3779b97f4a7c15

// mix scrambles a number.
func mix(x uint64) uint64 {
	x = (x ^ x>>31) * step
	return (x ^ x>>29) * 0xbf58476d1ce4e5b9
}

// check compares received bytes with the content of a request.
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
