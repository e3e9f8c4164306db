package stream

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/goudat/goudat/udat"
)

// The sizes are part of the protocol. Change the version in magic with them.
const (
	slots    = 32                  // of the ring, a power of two
	slotSize = headerSize + 16<<10 // so that full slots have room for the header before the data
	ringSize = slots * slotSize
	chunk    = 64 << 10 // bytes of data of one message, at most

	headerSize = 16      // of which 4 align the data
	bufferSize = 8 << 10 // a message with the data behind its header, at most
	mostShort  = bufferSize - headerSize

	// receives are for messages with data, and for those that take no slot: at most two reports can be on their way, see
	// report, and the end.
	receives = slots + 3

	magic = "goudstr2"
)

var errNonsense = errors.New("the peer does not keep to the protocol")

const (
	kindData = iota + 1 // length bytes, which may be none: then the message only reports what was read
	kindEnd             // the sender writes no more
)

// A header begins each message. Data of up to mostShort bytes follows it. More was written to the ring before. A message
// with data takes slots of the ring, one behind the other, in either case.
type header struct {
	kind   uint32
	length uint32 // of the data
	read   uint32 // slots that the sender's program has read; a total that wraps
}

// slotsFor returns how many slots a message with data takes.
func slotsFor(length uint32) uint32 { return (headerSize + length + slotSize - 1) / slotSize }

func (h header) put(b []byte) {
	binary.BigEndian.PutUint32(b, h.kind)
	binary.BigEndian.PutUint32(b[4:], h.length)
	binary.BigEndian.PutUint32(b[8:], h.read)
}

// parseHeader checks everything that does not depend on what came before.
func parseHeader(message []byte) (header, error) {
	if len(message) < headerSize {
		return header{}, errNonsense
	}
	h := header{binary.BigEndian.Uint32(message), binary.BigEndian.Uint32(message[4:]), binary.BigEndian.Uint32(message[8:])}
	follow := h.length
	if h.length > mostShort {
		follow = 0
	}
	if h.kind != kindData && (h.kind != kindEnd || h.length > 0) || h.length > chunk || len(message) != headerSize+int(follow) {
		return header{}, errNonsense
	}
	return h, nil
}

// parseGreeting takes apart the private data of a side: the version, and the ring that the peer may write. It ignores what
// follows, since providers pad private data.
func parseGreeting(private []byte) (ring udat.RMRTriplet, err error) {
	rest, ok := bytes.CutPrefix(private, []byte(magic))
	if !ok || len(rest) < udat.RMRTripletSize || ring.UnmarshalBinary(rest[:udat.RMRTripletSize]) != nil || ring.SegmentLength != ringSize {
		return ring, errNonsense
	}
	return ring, nil
}
