package main

import (
	"context"
	"fmt"

	"github.com/goudat/goudat/examples/interop/internal/pause"
)

// The values of the words, in order. The C program sets them when it reaches a step, and sleeps in between so that its
// peer sees them. This program polls instead: it continues as soon as the peer's word, or its own, has the expected
// value.
const (
	serverReady = 0x12345 // the client's compare finds this
	clientReady = 0x54321 // the server's compare finds this, and does not match
	swapped     = 0x98765

	serverStart, serverAdds = 0x10, 0x100
	clientStart, clientAdds = 0x100, 0x10
)

// compareAndSwap makes the client's swap succeed, and the server's fail.
func (n *node) compareAndSwap(ctx context.Context) error {
	if n.o.server() {
		n.store(serverReady)
		const no, never = 0x654321, 0x6789a
		if err := n.untilOld(ctx, n.swapIf(no, never), clientReady); err != nil {
			return err
		}
		say("the compare found %#x in the client's word, and must not swap it", clientReady)
		if err := n.awaitWord(ctx, swapped); err != nil {
			return err
		}
		say("the client swapped this side's word for %#x", swapped)
		return nil
	}
	n.store(clientReady)
	if err := n.untilOld(ctx, n.swapIf(serverReady, swapped), serverReady); err != nil {
		return err
	}
	say("the compare found %#x in the server's word and swapped it for %#x", serverReady, swapped)
	return nil
}

// fetchAndAdd makes each side add to the other's word twice.
func (n *node) fetchAndAdd(ctx context.Context) error {
	start, adds, theirStart, theirAdds := uint64(serverStart), uint64(serverAdds), uint64(clientStart), uint64(clientAdds)
	if !n.o.server() {
		start, adds, theirStart, theirAdds = theirStart, theirAdds, start, adds
	}
	before := n.load()
	if !n.o.server() {
		// The server sets its word once it has compared the client's.
		if err := n.untilOld(ctx, n.read(), theirStart); err != nil {
			return err
		}
	}
	// The C program adds one second after it has set its own word. Its addition must not get lost.
	if was := n.change(start - before); was != before && was != before+theirAdds {
		return fmt.Errorf("the word is %#x, which the %s should have left at %#x", was, n.peer(), before)
	}
	if n.o.server() {
		if err := n.untilOld(ctx, n.read(), theirStart); err != nil {
			return err
		}
	}
	for i := range uint64(2) {
		if err := n.want(ctx, n.add(adds), theirStart+i*adds); err != nil {
			return err
		}
	}
	if err := n.awaitWord(ctx, start+2*theirAdds); err != nil {
		return err
	}
	say("the %s added to this side's word, which is %#x", n.peer(), n.load())
	if n.o.server() {
		return nil
	}
	// The server's last addition is here before the server knows, and no event reports that. The client must not leave
	// yet.
	if _, err := n.do(ctx, n.read()); err != nil {
		return err
	}
	return pause.UntilPeerHears(ctx)
}
