package stream

import (
	"encoding/binary"
	"errors"

	"github.com/goudat/goudat/udat"
)

const (
	magic = "goudstr3" // with the version of the protocol

	headerSize = 16 // of which 4 align the data
	bufferSize = 2 << 10

	// more are the receives beside those for messages with data: at most two reports can be on their way, see
	// Conn.report, and the end.
	more = 3

	leastSlots, mostSlots = 8, 1024
	leastSize             = headerSize + 16 // of a slot, and of a receive
	mostRing              = 1<<30 + mostSlots*headerSize
)

// ErrProtocol matches the error of a connection whose peer does not keep to the protocol of this package: another
// program that listens there, another version of the package, or one that is broken.
var ErrProtocol = errors.New("stream: the peer does not speak the protocol of this package and version")

// sizes are those of the messages of a connection, in both directions.
type sizes struct {
	slots    uint32 // of the ring, a power of two
	slotSize uint32 // bytes
	short    uint32 // bytes of a message with the data behind its header, at most
}

// sizes returns those that the settings ask for.
func (c Config) sizes() sizes {
	// A slot is larger than its share of the window by a header, so that messages of whole KiB fill slots.
	return sizes{uint32(c.Messages), uint32(headerSize + c.Window/c.Messages), bufferSize}
}

// with returns the sizes of a connection with a peer that has sent a greeting.
func (s sizes) with(peer greeting) sizes {
	slots := min(s.slots, peer.slots)
	return sizes{slots, min(s.window(), peer.ring.SegmentLength) / slots, min(s.short, peer.short)}
}

func (s sizes) window() uint32 { return s.slots * s.slotSize }

// mostOfOne is how many slots a message takes at most, and staged how many a side has for what it sends.
func (s sizes) mostOfOne() uint32 { return s.slots / 8 }
func (s sizes) staged() uint32    { return s.slots / 2 }

// most returns how many bytes of data a message has at most.
func (s sizes) most() uint32 { return s.mostOfOne()*s.slotSize - headerSize }

func (s sizes) mostShort() uint32 { return s.short - headerSize }

// slotsFor returns how many slots a message with data takes.
func (s sizes) slotsFor(length uint32) uint32 {
	return (headerSize + length + s.slotSize - 1) / s.slotSize
}

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

func (h header) put(b []byte) {
	binary.BigEndian.PutUint32(b, h.kind)
	binary.BigEndian.PutUint32(b[4:], h.length)
	binary.BigEndian.PutUint32(b[8:], h.read)
}

// parseHeader checks everything that does not depend on what came before.
func (s sizes) parseHeader(message []byte) (header, error) {
	if len(message) < headerSize {
		return header{}, ErrProtocol
	}
	h := header{binary.BigEndian.Uint32(message), binary.BigEndian.Uint32(message[4:]), binary.BigEndian.Uint32(message[8:])}
	follow := h.length
	if h.length > s.mostShort() {
		follow = 0
	}
	if h.kind != kindData && (h.kind != kindEnd || h.length > 0) || h.length > s.most() || len(message) != headerSize+int(follow) {
		return header{}, ErrProtocol
	}
	return h, nil
}

// A greeting is the private data of a side: what it has for its peer.
type greeting struct {
	slots, short uint32          // see sizes
	ring         udat.RMRTriplet // that the peer may write
}

const greetingSize = len(magic) + 8 + udat.RMRTripletSize

func (g greeting) bytes() []byte {
	b := binary.BigEndian.AppendUint32([]byte(magic), g.slots)
	b, _ = g.ring.AppendBinary(binary.BigEndian.AppendUint32(b, g.short)) // never an error
	return b
}

// parseGreeting ignores what follows the greeting, since providers pad private data.
func parseGreeting(private []byte) (greeting, error) {
	if len(private) < greetingSize || string(private[:len(magic)]) != magic {
		return greeting{}, ErrProtocol
	}
	rest := private[len(magic):greetingSize]
	g := greeting{slots: binary.BigEndian.Uint32(rest), short: binary.BigEndian.Uint32(rest[4:])}
	err := g.ring.UnmarshalBinary(rest[8:])
	if err != nil || g.slots < leastSlots || g.slots > mostSlots || g.slots&(g.slots-1) != 0 || g.short < leastSize ||
		g.ring.SegmentLength < leastSize*g.slots || g.ring.SegmentLength > mostRing {
		return greeting{}, ErrProtocol
	}
	return g, nil
}
