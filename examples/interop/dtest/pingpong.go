package main

import (
	"context"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/pause"
	"github.com/goudat/goudat/udat"
)

// The first byte of each message.
const (
	fromClient = 0x55
	fromServer = 0xaa
)

// peerPosts is the time in which the server posts its receives: the C program posts them after it has taken the client's
// last note. With a CNO it may notice the note a second late.
func (n *node) peerPosts() time.Duration {
	if n.o.useCNO {
		return 2 * time.Second
	}
	return time.Second
}

// postPings posts a receive for each of the peer's messages. Its number is the cookie.
func (n *node) postPings() error {
	for i := range pings {
		slot, err := n.in.Segment(i*n.o.size, n.o.size)
		if err != nil {
			return err
		}
		if err := n.ep.PostRecv([]udat.Segment{slot}, uint64(i), 0); err != nil {
			return err
		}
	}
	return nil
}

// pingPong sends messages back and forth, each from and to a slot of its own.
func (n *node) pingPong(ctx context.Context) error {
	say("messages back and forth")
	mine, theirs := byte(fromServer), byte(fromClient)
	if !n.o.server() {
		mine, theirs = theirs, mine
		if err := pause.For(ctx, n.peerPosts()); err != nil {
			return err
		}
	}
	start := time.Now()
	for i := range pings {
		if !n.o.server() {
			if err := n.sendPing(i, mine); err != nil {
				return err
			}
		}
		if _, err := n.collect(ctx, n.recv, &n.times.msgPolls, uint64(i), n.o.size); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if got := n.in.Bytes()[i*n.o.size]; got != theirs {
			return fmt.Errorf("message %d starts with %#x, want %#x", i, got, theirs)
		}
		if i == 0 {
			start = time.Now() // the server has waited until now
		}
		if n.o.server() {
			if err := n.sendPing(i, mine); err != nil {
				return err
			}
		}
	}
	n.times.roundTrips = time.Since(start)
	return nil
}

// sendPing posts a message and does not wait. The answer shows that it has arrived; for the server's last message, the
// client's disconnect does.
func (n *node) sendPing(i int, first byte) error {
	slot, err := n.out.Segment(i*n.o.size, n.o.size)
	if err != nil {
		return err
	}
	n.out.Bytes()[i*n.o.size] = first
	if err := n.ep.PostSend([]udat.Segment{slot}, uint64(i), udat.CompletionSuppress); err != nil {
		return fmt.Errorf("message %d: %w", i, err)
	}
	return nil
}
