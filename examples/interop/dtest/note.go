package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// A note is a message with the place of the sender's memory. The first note is read. The later ones have the same
// content; their arrival means that writes or reads are done.

const noteCookie = 0xaaaa

// sendNote posts a note. Only the first has a completion: the peer's answer shows that the others have arrived.
func (n *node) sendNote(flags udat.CompletionFlags) error {
	place, err := n.in.RMRTriplet(0, n.o.size)
	if err != nil {
		return err
	}
	if err := putTriplet(n.noteOut.Bytes(), place); err != nil {
		return err
	}
	segment, err := n.noteOut.Segment(0, tripletSize)
	if err != nil {
		return err
	}
	return n.ep.PostSend([]udat.Segment{segment}, noteCookie, flags)
}

// takeNote waits for the peer's next note.
func (n *node) takeNote(ctx context.Context, polls *int) error {
	if _, err := n.collect(ctx, n.recv, polls, uint64(n.notesSeen), tripletSize); err != nil {
		return fmt.Errorf("waiting for the %s's note: %w", n.peer(), err)
	}
	place, err := parseTriplet(n.notesIn.Bytes()[n.notesSeen*tripletSize:][:tripletSize])
	if err != nil {
		return err
	}
	n.notesSeen++
	if n.notesSeen == 1 {
		say("the %s's memory: %d bytes at %#x, context %#x", n.peer(), place.SegmentLength, place.VirtualAddress, place.RMRContext)
		if int64(place.SegmentLength) != int64(n.o.size) {
			return fmt.Errorf("the %s has %d bytes and this side %d: give both the same -b", n.peer(), place.SegmentLength, n.o.size)
		}
	} else if place != n.remote {
		return fmt.Errorf("the %s's memory has moved, from %v to %v", n.peer(), n.remote, place)
	}
	n.remote = place
	return nil
}

// exchangePlaces tells the peer where this side's memory is, and learns where the peer's is. The client sends first:
// over iWARP a server that does so may lose the connection. An error in the peer's note has precedence: it makes the peer
// leave, perhaps before this side's note is known to have arrived. A side that finds an error does not leave before the
// peer has its note.
func (n *node) exchangePlaces(ctx context.Context) error {
	var wrong error
	if n.o.server() {
		wrong = n.takeNote(ctx, &n.times.msgPolls)
	}
	if err := n.sendNote(udat.CompletionDefault); err != nil {
		return cmp.Or(wrong, err)
	}
	if !n.o.server() {
		wrong = n.takeNote(ctx, &n.times.msgPolls)
	}
	_, err := n.collect(ctx, n.request, &n.times.msgPolls, noteCookie, tripletSize)
	return cmp.Or(wrong, err)
}
