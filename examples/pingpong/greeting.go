package main

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// The private data of the client's connect says what the client will do. The private data of the server's accept says
// where its memory is. Both have fixed layouts: providers pad private data.

const (
	maxSizes = 12
	maxSize  = 1 << 20
	maxCount = 1 << 20

	greetingMagic  = 0x676f7564 // "goud"
	greetingHeader = 12
)

func (s settings) greeting() []byte {
	b := binary.BigEndian.AppendUint32(nil, greetingMagic)
	b = binary.BigEndian.AppendUint32(b, uint32(s.count))
	b = binary.BigEndian.AppendUint16(b, uint16(len(s.sizes)))
	b = binary.BigEndian.AppendUint16(b, graceful(s.graceful))
	for _, size := range s.sizes {
		b = append(b, byte(size>>16), byte(size>>8), byte(size))
	}
	return b
}

func graceful(yes bool) uint16 {
	if yes {
		return 1
	}
	return 0
}

var errGreeting = errors.New("the client is not a pingpong of this version")

// greeted sets the settings from the client's greeting.
func (s settings) greeted(b []byte) (settings, error) {
	if len(b) < greetingHeader || binary.BigEndian.Uint32(b) != greetingMagic {
		return s, errGreeting
	}
	s.count = int(binary.BigEndian.Uint32(b[4:]))
	n := int(binary.BigEndian.Uint16(b[8:]))
	s.graceful = binary.BigEndian.Uint16(b[10:]) == 1
	b = b[greetingHeader:]
	if s.count < 1 || s.count > maxCount || n < 1 || n > maxSizes || len(b) < 3*n {
		return s, errGreeting
	}
	s.sizes = nil
	for i := range n {
		size := int(b[3*i])<<16 | int(b[3*i+1])<<8 | int(b[3*i+2])
		if size > maxSize {
			return s, errGreeting
		}
		s.sizes = append(s.sizes, size)
	}
	return s, nil
}

const tripletSize = 16

func parseTriplet(b []byte) (udat.RMRTriplet, error) {
	var t udat.RMRTriplet
	if len(b) < tripletSize {
		return t, fmt.Errorf("the server's answer has %d bytes, not %d", len(b), tripletSize)
	}
	return t, t.UnmarshalBinary(b[:tripletSize])
}
