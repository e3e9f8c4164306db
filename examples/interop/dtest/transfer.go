package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// The initial content of the regions, apart from texts at their beginning.
const (
	fillIn  = 'a'
	fillOut = 'b'
)

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}

// transfer runs the transfers that the flags select, on an established connection.
func (n *node) transfer(ctx context.Context) error {
	if err := n.exchangePlaces(ctx); err != nil {
		return err
	}
	switch {
	case n.o.writePingPong:
		return n.writePingPong(ctx)
	case n.o.writeOnly && n.attr.ExtensionSupported:
		return n.writeImmediate(ctx)
	}
	if err := n.writeBurst(ctx); err != nil {
		return err
	}
	// The C program decides in the same way, so that both sides of a pair agree.
	if n.o.writeOnly || !n.canRead() {
		return nil
	}
	if err := n.readBurst(ctx); err != nil {
		return err
	}
	return n.pingPong(ctx)
}

func (n *node) canRead() bool {
	return n.provider.ProviderSpecificAttr["DAT_IB_RDMA_READ"] == "TRUE"
}

// putText writes a zero-terminated text, truncated if there is no room.
func (n *node) putText(lmr *udat.LMR, offset int, text string) {
	if offset < n.o.size {
		copy(lmr.Bytes()[offset:n.o.size], text+"\x00")
	}
}

// checkText checks the text that the peer has written.
func (n *node) checkText(b []byte, want string) error {
	want = want[:min(len(want), len(b))]
	if !bytes.HasPrefix(b, []byte(want)) {
		return fmt.Errorf("there is %q where the %s should have written %q", b[:min(len(b), 64)], n.peer(), want)
	}
	say("the %s wrote %q", n.peer(), want)
	return nil
}

func writeText(who string) string { return who + " RDMA write data..." }

func readText(who string) string { return who + " RDMA read data..." }
