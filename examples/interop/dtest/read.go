package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
)

// readBurst reads the peer's memory a few times and then exchanges notes.
func (n *node) readBurst(ctx context.Context) error {
	say("RDMA reads, then a message")
	clear(n.out.Bytes()[:n.o.size])
	n.putText(n.in, 0, readText(n.role()))
	segment, err := n.out.Segment(0, n.o.size)
	if err != nil {
		return err
	}
	const cookie = 0x9999
	for i := range reads {
		start := time.Now()
		if err := n.ep.PostRDMARead([]udat.Segment{segment}, cookie, n.remote, udat.CompletionDefault); err != nil {
			return err
		}
		if _, err := n.collect(ctx, n.request, &n.times.readPolls[i], cookie, n.o.size); err != nil {
			return err
		}
		n.times.read[i] = time.Since(start)
		n.sayMore("RDMA read %d completed", i+1)
	}
	if err := n.checkRead(n.out.Bytes()[:n.o.size]); err != nil {
		return err
	}
	// The peer takes the note for leave to send: over iWARP a message that comes before
	// its receive ends the connection.
	if err := n.postPings(); err != nil {
		return err
	}
	if err := n.sendNote(udat.CompletionSuppress); err != nil {
		return err
	}
	return n.takeNote(ctx, &n.times.msgPolls)
}

// checkRead checks only the bytes after the text: the peer writes the text while the first reads may already be in
// progress.
func (n *node) checkRead(b []byte) error {
	var want byte = fillOut // this side has written its own pattern there
	if n.o.unidirectional && n.o.server() {
		want = fillIn
	}
	text, rest := b[:min(len(b), 32)], b[min(len(b), 32):]
	if i := bytes.IndexFunc(rest, func(r rune) bool { return r != rune(want) }); i >= 0 {
		return fmt.Errorf("the read bytes have %#x at %d, want %#x", rest[i], len(text)+i, want)
	}
	text, _, _ = bytes.Cut(text, []byte{0})
	if len(text) == 0 {
		return errors.New("the read bytes have no text")
	}
	say("read %q", text)
	return nil
}
