package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// messageKind is the kind of a message on a connection.
type messageKind uint8

const (
	// dataMessage has the numbers after the header.
	dataMessage messageKind = iota + 1
	// offerMessage describes the memory that the receiver has to read the numbers from.
	offerMessage
	// takenMessage says that the receiver has read what was offered.
	takenMessage
	// partMessage says that this side has nothing more to send, and that the connection may end.
	partMessage
	// stayMessage refuses that.
	stayMessage
	// wakeMessage wakes the receiver by its event, and says nothing else.
	wakeMessage
	// skipMessage says that the next message is at the beginning of the ring.
	skipMessage
)

// header is at the beginning of each message.
type header struct {
	kind    messageKind
	element elementKind // of the numbers
	payload uint16      // bytes after the header
	context uint32
	tag     int32
	length  uint32 // bytes of the numbers
	number  uint32 // of the message, counting the data and offers from its sender to this peer
	flow    flow
	source  uint32 // rank of the sender in the world; messages in a ring have a checksum instead
}

const (
	headerSize = 32
	// offerSize is the payload of an offer: its number and the memory.
	offerSize = 4 + tripletSize
	// takenSize is the payload that says which offer was read.
	takenSize   = 4
	tripletSize = 16
)

var errMalformed = errors.New("mpi: a malformed message")

// put writes the header to the beginning of b.
func (h *header) put(b []byte) {
	b = b[:headerSize]
	le := binary.LittleEndian
	le.PutUint32(b[0:], h.source)
	le.PutUint16(b[4:], h.payload)
	b[6], b[7] = byte(h.kind), byte(h.element)
	le.PutUint32(b[8:], h.context)
	le.PutUint32(b[12:], uint32(h.tag))
	le.PutUint32(b[16:], h.length)
	le.PutUint32(b[20:], h.number)
	le.PutUint32(b[24:], h.flow.consumed)
	le.PutUint32(b[28:], h.flow.granted)
}

// parseMessage decodes a message. The payload is part of b.
func parseMessage(b []byte, h *header) (payload []byte, err error) {
	if len(b) < headerSize {
		return nil, fmt.Errorf("%w: %d bytes", errMalformed, len(b))
	}
	le := binary.LittleEndian
	h.source = le.Uint32(b[0:])
	h.payload = le.Uint16(b[4:])
	h.kind, h.element = messageKind(b[6]), elementKind(b[7])
	h.context = le.Uint32(b[8:])
	h.tag = int32(le.Uint32(b[12:]))
	h.length = le.Uint32(b[16:])
	h.number = le.Uint32(b[20:])
	h.flow = flow{le.Uint32(b[24:]), le.Uint32(b[28:])}
	payload = b[headerSize:]
	if int(h.payload) > len(payload) {
		return nil, fmt.Errorf("%w: %d bytes after the header, but it says %d", errMalformed, len(payload), h.payload)
	}
	payload = payload[:h.payload]
	want := 0
	switch h.kind {
	case dataMessage:
		want = int(h.length)
	case offerMessage:
		want = offerSize
	case takenMessage:
		want = takenSize
	case skipMessage, partMessage, stayMessage, wakeMessage:
	default:
		return nil, fmt.Errorf("%w: its kind is %d", errMalformed, h.kind)
	}
	if len(payload) != want {
		return nil, fmt.Errorf("%w: %d bytes in a message of kind %d and length %d", errMalformed, len(payload), h.kind, h.length)
	}
	if h.kind == dataMessage || h.kind == offerMessage {
		if size := h.element.size(); h.length > 0 && size == 0 || size > 0 && int(h.length)%size != 0 {
			return nil, fmt.Errorf("%w: %d bytes of %v", errMalformed, h.length, h.element)
		}
	}
	return payload, nil
}

// putOffer writes the payload of an offer.
func putOffer(b []byte, number uint32, memory udat.RMRTriplet) {
	binary.LittleEndian.PutUint32(b, number)
	_, _ = memory.AppendBinary(b[4:4]) // has no errors
}

// parseOffer decodes the payload of an offer.
func parseOffer(b []byte) (number uint32, memory udat.RMRTriplet, err error) {
	err = memory.UnmarshalBinary(b[4:offerSize])
	return binary.LittleEndian.Uint32(b), memory, err
}
