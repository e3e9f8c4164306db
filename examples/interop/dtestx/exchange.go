package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// What the two sides exchange once they know each other's addresses. All layouts are those of the C program.

const (
	// qualifier is the connection qualifier that the server listens on.
	qualifier udat.ConnQual = 31112

	// tripletSize is the size of the one message that each side sends.
	tripletSize = 16
)

// endpointNumber is the private data: the number of the server's endpoint to connect to. There is only endpoint 0.
var endpointNumber = []byte{0, 0, 0, 0}

// checkPrivateData checks only the number: providers pad private data.
func checkPrivateData(b []byte) error {
	if !bytes.HasPrefix(b, endpointNumber) {
		return fmt.Errorf("private data % x, want the endpoint's number % x", b, endpointNumber)
	}
	return nil
}

// exchangePlaces tells the peer where this side's memory is, and learns where the peer's is. An error in the peer's
// message has precedence: it makes the peer leave, perhaps before this side's message is known to have arrived. A side
// that finds an error does not leave before the peer has its message.
func (n *node) exchangePlaces(ctx context.Context) error {
	place, err := n.in.RMRTriplet(0, n.o.size)
	if err != nil {
		return err
	}
	message, err := place.AppendBinary(nil)
	if err != nil {
		return err
	}
	copy(n.notes.Bytes()[tripletSize:], message)
	segment, err := n.notes.Segment(tripletSize, tripletSize)
	if err != nil {
		return err
	}
	const cookie = 0xaaaa
	if err := n.ep.PostSend([]udat.Segment{segment}, cookie, udat.CompletionDefault); err != nil {
		return err
	}
	wrong := n.takePlace(ctx)
	_, err = n.collect(ctx, n.request, cookie, tripletSize)
	return cmp.Or(wrong, err)
}

// takePlace waits for the peer's message.
func (n *node) takePlace(ctx context.Context) error {
	if _, err := n.collect(ctx, n.recv, noteReceive, tripletSize); err != nil {
		return fmt.Errorf("waiting for the place of the %s's memory: %w", n.peer(), err)
	}
	if err := n.remote.UnmarshalBinary(n.notes.Bytes()[:tripletSize]); err != nil {
		return err
	}
	say("the %s's memory: %d bytes at %#x, context %#x", n.peer(), n.remote.SegmentLength, n.remote.VirtualAddress, n.remote.RMRContext)
	if int64(n.remote.SegmentLength) != int64(n.o.size) {
		return fmt.Errorf("the %s has %d bytes and this side %d: give both the same -b", n.peer(), n.remote.SegmentLength, n.o.size)
	}
	return nil
}
