package main

import (
	"bytes"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// What the two sides exchange once the client knows the server's address: a pattern in the private data of the
// connection, and the place of their memory in the first message. All layouts are those of the C program.

const (
	// qualifier is the connection qualifier that the server listens on.
	qualifier udat.ConnQual = 45248

	pdataSize = 48

	// tripletSize is the size of each message that is not a ping.
	tripletSize = 16

	immediate = 0x7777
)

// privateData returns a pattern that counts up from first. The client's starts at 1; the server returns it with 1 added
// to each byte.
func privateData(first byte) []byte {
	b := make([]byte, pdataSize)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

// checkPrivateData checks only the pattern: providers pad private data.
func checkPrivateData(b []byte, first byte) error {
	if len(b) < pdataSize || !bytes.Equal(b[:pdataSize], privateData(first)) {
		return fmt.Errorf("private data % x, want the %d bytes from %#02x up", b, pdataSize, first)
	}
	return nil
}

// putTriplet writes the place of memory as a message: address, length and
// context, each with the most significant byte first.
func putTriplet(message []byte, t udat.RMRTriplet) error {
	b, err := t.AppendBinary(nil)
	copy(message, b)
	return err
}

func parseTriplet(message []byte) (t udat.RMRTriplet, err error) {
	return t, t.UnmarshalBinary(message)
}
