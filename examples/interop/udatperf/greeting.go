package main

import (
	"encoding/binary"
	"errors"
)

// A client connects twice, first for control and then for the measurements. Both greetings say who it is and what
// memory is needed. The layout is fixed: providers pad private data.

const (
	greetingMagic = 0x75706631 // "upf1"
	greetingSize  = 24
)

type greeting struct {
	session uint64 // the same for the two connections of a client
	data    bool   // the second one
	shape   shape
}

func (g greeting) bytes() []byte {
	b := binary.BigEndian.AppendUint32(nil, greetingMagic)
	b = binary.BigEndian.AppendUint64(b, g.session)
	b = binary.BigEndian.AppendUint32(b, uint32(g.shape.largest))
	b = binary.BigEndian.AppendUint32(b, uint32(g.shape.window))
	return append(b, truth(g.data), truth(g.shape.wait), 0, 0)
}

func truth(yes bool) byte {
	if yes {
		return 1
	}
	return 0
}

var errGreeting = errors.New("the client is not a udatperf of this version")

func parseGreeting(b []byte) (greeting, error) {
	if len(b) < greetingSize || binary.BigEndian.Uint32(b) != greetingMagic {
		return greeting{}, errGreeting
	}
	g := greeting{
		session: binary.BigEndian.Uint64(b[4:]),
		data:    b[20] == 1,
		shape: shape{
			largest: int(binary.BigEndian.Uint32(b[12:])),
			window:  int(binary.BigEndian.Uint32(b[16:])),
			wait:    b[21] == 1,
		},
	}
	if g.shape.largest < atomicSize || g.shape.largest > maxSize || g.shape.window < 1 || g.shape.window > maxWindow {
		return greeting{}, errGreeting
	}
	return g, nil
}
