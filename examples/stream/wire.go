package stream

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/goudat/goudat/udat"
)

// The sizes are part of the protocol: change the version in magic with them.
const (
	slots    = 32        // messages with data that the peer has not read yet, at most
	slotSize = 8 << 10   // bytes of a message with its header
	ringSize = 512 << 10 // bytes of long data that the peer has not read yet, at most; a power of two
	chunk    = 64 << 10  // bytes of one RDMA write, at most

	headerSize = 16
	mostShort  = slotSize - headerSize

	// spare receives are for messages that need no credit. At most two reports of messages and two of ring bytes can
	// be on their way, see Conn.report. Then there are the greeting and the end.
	spare    = 6
	receives = slots + spare
	controls = 4 // buffers for messages without data

	magic        = "goudstr1"
	greetingSize = len(magic) + udat.RMRTripletSize
)

var errNonsense = errors.New("the peer does not keep to the protocol")

type kind uint8

const (
	kindCredit kind = iota + 1 // nothing but the counters
	kindShort                  // length bytes follow the header
	kindLong                   // length bytes were written to the ring
	kindEnd                    // the peer writes no more
)

// A header begins each message. Its counters are totals that wrap: what its sender has read of what it received.
type header struct {
	kind     kind
	length   uint32
	messages uint32 // short and long ones
	bytes    uint32 // of the ring
}

func (h header) put(b []byte) {
	clear(b[:headerSize])
	b[0] = byte(h.kind)
	binary.BigEndian.PutUint32(b[4:], h.length)
	binary.BigEndian.PutUint32(b[8:], h.messages)
	binary.BigEndian.PutUint32(b[12:], h.bytes)
}

// parseHeader checks everything that does not depend on what came before.
func parseHeader(message []byte) (header, error) {
	if len(message) < headerSize {
		return header{}, errNonsense
	}
	h := header{
		kind:     kind(message[0]),
		length:   binary.BigEndian.Uint32(message[4:]),
		messages: binary.BigEndian.Uint32(message[8:]),
		bytes:    binary.BigEndian.Uint32(message[12:]),
	}
	follow := uint32(len(message) - headerSize)
	ok := false
	switch h.kind {
	case kindCredit, kindEnd:
		ok = h.length == 0 && follow == 0
	case kindShort:
		ok = h.length > 0 && h.length == follow
	case kindLong:
		ok = h.length > 0 && h.length <= chunk && follow == 0
	}
	if !ok {
		return header{}, errNonsense
	}
	return h, nil
}

// greeting is the private data of both sides: the version, and the ring that the peer may write.
func greeting(ring udat.RMRTriplet) ([]byte, error) {
	return ring.AppendBinary([]byte(magic))
}

// parseGreeting ignores what follows: providers pad private data.
func parseGreeting(private []byte) (ring udat.RMRTriplet, err error) {
	if len(private) < greetingSize || !bytes.HasPrefix(private, []byte(magic)) {
		return ring, errNonsense
	}
	if err := ring.UnmarshalBinary(private[len(magic):greetingSize]); err != nil || ring.SegmentLength != ringSize {
		return ring, errNonsense
	}
	return ring, nil
}
