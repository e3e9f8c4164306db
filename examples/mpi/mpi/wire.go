package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"github.com/goudat/goudat/udat"
)

// messageKind tells what a message on a connection is.
type messageKind uint8

const (
	// eagerMessage has the numbers behind the header.
	eagerMessage messageKind = iota + 1
	// offerMessage names the memory that the receiver is to read the numbers from.
	offerMessage
	// takenMessage says that the receiver has read what was offered.
	takenMessage
	// creditMessage has nothing but the credits that every header has.
	creditMessage
	// goodbyeMessage says that all ranks are closing their worlds.
	goodbyeMessage
	// deathMessage names the rank that has died, in place of an offer.
	deathMessage
)

// header stands at the beginning of each message.
type header struct {
	kind    messageKind
	element reflect.Kind // of the numbers
	credits uint16       // receives that the sender of this message has posted again
	context uint32
	tag     int32
	offer   uint32          // number of the offer, of those of its sender to this peer
	length  uint32          // bytes of the numbers
	memory  udat.RMRTriplet // where they are, with an offer
}

const (
	headerSize  = 36
	tripletSize = 16
	// slotSize is the memory of a receive.
	slotSize = 8192
	// eagerLimit is the most bytes that are sent along with the header.
	eagerLimit = slotSize - headerSize
)

var errMalformed = errors.New("mpi: a malformed message")

// append writes the header in little-endian order.
func (h header) append(b []byte) []byte {
	b = append(b, byte(h.kind), byte(h.element))
	b = binary.LittleEndian.AppendUint16(b, h.credits)
	for _, v := range []uint32{h.context, uint32(h.tag), h.offer, h.length} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b, _ = h.memory.AppendBinary(b) // has no errors
	return b
}

// parseMessage reads a message. The payload is part of b.
func parseMessage(b []byte) (h header, payload []byte, err error) {
	if len(b) < headerSize {
		return h, nil, fmt.Errorf("%w: %d bytes", errMalformed, len(b))
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4+4*i:]) }
	h = header{
		kind: messageKind(b[0]), element: reflect.Kind(b[1]), credits: binary.LittleEndian.Uint16(b[2:]),
		context: word(0), tag: int32(word(1)), offer: word(2), length: word(3),
	}
	if err := h.memory.UnmarshalBinary(b[headerSize-tripletSize : headerSize]); err != nil {
		return h, nil, err
	}
	payload = b[headerSize:]
	switch h.kind {
	case eagerMessage:
		if int(h.length) != len(payload) {
			err = fmt.Errorf("%w: %d bytes of numbers, and %d announced", errMalformed, len(payload), h.length)
		}
	case offerMessage:
		if h.length != h.memory.SegmentLength {
			err = fmt.Errorf("%w: %d bytes of memory, and %d announced", errMalformed, h.memory.SegmentLength, h.length)
		}
	case takenMessage, creditMessage, goodbyeMessage, deathMessage:
		return h, payload, nil
	default:
		return h, nil, fmt.Errorf("%w: its kind is %d", errMalformed, h.kind)
	}
	if size, ok := sizes[h.element]; err == nil && (!ok || int(h.length)%size != 0) {
		err = fmt.Errorf("%w: %d bytes of %v", errMalformed, h.length, h.element)
	}
	return h, payload, err
}
