package main

import (
	"encoding/binary"
	"fmt"
)

// The first byte of each message.
const (
	fromClient = 0x55
	fromServer = 0xaa
)

// headerSize is the size of the part of a message that both sides check.
const headerSize = 12

// header is the beginning of a message, in the C program's layout.
type header struct {
	from       byte
	connection uint32
	number     uint32 // counts the messages of the connection, from 1
}

func (h header) put(b []byte) {
	b[0] = h.from
	binary.BigEndian.PutUint32(b[4:], h.connection)
	binary.BigEndian.PutUint32(b[8:], h.number)
}

func parseHeader(b []byte) header {
	return header{b[0], binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])}
}

func (h header) String() string {
	return fmt.Sprintf("message %d of connection %d, kind %#x", h.number, h.connection, h.from)
}
