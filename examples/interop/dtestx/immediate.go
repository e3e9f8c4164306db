package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// What each side writes, and the immediate value.
const (
	clientText, clientImmediate = "Client written data", 0x7777
	serverText, serverImmediate = "Server data", 0x1111
)

// writeImmediate writes the peer's memory with immediate data, while the peer does the same here.
func (n *node) writeImmediate(ctx context.Context) error {
	text, value, theirText, theirValue := serverText, uint32(serverImmediate), clientText, uint32(clientImmediate)
	if !n.o.server() {
		text, value, theirText, theirValue = theirText, theirValue, text, value
	}
	copy(n.out.Bytes(), text)
	segment, err := n.out.Segment(0, n.o.size)
	if err != nil {
		return err
	}
	const cookie = 0x9999
	if err := n.ep.PostRDMAWriteImmed([]udat.Segment{segment}, cookie, n.remote, value, udat.CompletionDefault); err != nil {
		return err
	}
	if _, err := n.collect(ctx, n.request, cookie, n.o.size); err != nil {
		return err
	}
	event, err := n.collect(ctx, n.recv, immediateReceive, n.o.size)
	if err != nil {
		return err
	}
	if event.Operation != udat.DTOIBRecvImmed || event.Immediate != theirValue {
		return fmt.Errorf("%v with immediate data %#x, want %v with %#x", event.Operation, event.Immediate, udat.DTOIBRecvImmed, theirValue)
	}
	say("immediate data %#x from the %s", event.Immediate, n.peer())
	if b := n.in.Bytes(); !bytes.HasPrefix(b, append([]byte(theirText), 0)) {
		return fmt.Errorf("there is %q where the %s should have written %q", b[:min(len(b), 32)], n.peer(), theirText)
	}
	say("the %s wrote %q", n.peer(), theirText)
	return nil
}
