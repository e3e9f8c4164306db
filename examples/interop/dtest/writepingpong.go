package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/pause"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

// writePingPong makes the sides write in turn. Only the last byte, which counts the writes, shows a side that the other
// has written.
func (n *node) writePingPong(ctx context.Context) error {
	say("RDMA writes back and forth")
	for _, size := range n.o.pingPongSizes() {
		start := time.Now()
		if err := n.writesInTurn(ctx, size); err != nil {
			return fmt.Errorf("RDMA writes of %d bytes: %w", size, err)
		}
		n.times.roundTrips = time.Since(start)
		if n.o.allSizes {
			n.times.printRoundTrips(os.Stdout, os.Getpid(), n.o, size)
		}
	}
	return n.settle(ctx)
}

// settle makes the client read a byte before it leaves, and wait a moment. The last write is in its memory before the
// server's adapter knows. If the connection ends in between, the C server fails.
func (n *node) settle(ctx context.Context) error {
	if n.o.server() {
		return nil
	}
	segment, err := n.out.Segment(0, 1)
	if err != nil {
		return err
	}
	const cookie = 0x9999
	if err := n.ep.PostRDMARead([]udat.Segment{segment}, cookie, n.remote, udat.CompletionDefault); err != nil {
		return err
	}
	if _, err := n.collect(ctx, n.request, &n.times.writePolls, cookie, 1); err != nil {
		return err
	}
	return pause.UntilPeerHears(ctx)
}

func (n *node) writesInTurn(ctx context.Context, size int) error {
	segment, err := n.out.Segment(0, size)
	if err != nil {
		return err
	}
	in, out := n.in.Bytes()[:size], n.out.Bytes()[:size]
	last, err := mem.PeerByteAt(n.in, size-1)
	if err != nil {
		return err
	}
	// The registered memory has room for sizes slightly above -b.
	remote := n.remote
	remote.SegmentLength = uint32(size)
	for i := range n.o.burst {
		count := byte(i + 1)
		if n.o.server() {
			if err := n.awaitWrite(ctx, last, count); err != nil {
				return err
			}
		}
		if n.o.checkData {
			if err := n.prepare(out[:size-1], in[:size-1], i); err != nil {
				return err
			}
		}
		out[size-1] = count
		flags := n.signal(i)
		if n.o.server() && i == n.o.burst-1 {
			// The client may leave as soon as it sees this write, before this side has its completion.
			flags = udat.CompletionSuppress
		}
		if err := n.ep.PostRDMAWrite([]udat.Segment{segment}, uint64(i), remote, flags); err != nil {
			return err
		}
		if flags&udat.CompletionSuppress == 0 {
			// Like the C program, which never waits in this test.
			event, err := poll(ctx, n.request, &n.times.writePolls)
			if err != nil {
				return err
			}
			if err := n.check(event, uint64(i), size); err != nil {
				return err
			}
		}
		if n.o.server() {
			continue
		}
		if err := n.awaitWrite(ctx, last, count); err != nil {
			return err
		}
		if n.o.checkData && !whole(func() bool { return bytes.Equal(in, out) }) {
			return fmt.Errorf("write %d came back changed", i)
		}
	}
	return nil
}

var patterns = []byte{0, 0xff, 0x55, 0xaa}

// prepare makes the content of write i. The client writes patterns and, after the last one, random bytes. The server
// returns what it received.
func (n *node) prepare(out, in []byte, i int) error {
	which := i % (len(patterns) + 1)
	switch {
	case n.o.server():
		if which < len(patterns) && !whole(func() bool { return bytes.Count(in, patterns[which:which+1]) == len(in) }) {
			return fmt.Errorf("write %d is not all %#02x", i, patterns[which])
		}
		copy(out, in)
	case which < len(patterns):
		fill(out, patterns[which])
	default:
		rand.Read(out)
	}
	return nil
}

// whole polls until all bytes of the write are there: soft-RoCE may write the last byte before others.
func whole(isWhole func() bool) bool {
	for begin := time.Now(); !isWhole(); {
		if time.Since(begin) > restWithin {
			return false
		}
	}
	return true
}

// restWithin is far longer than the rest of a write takes.
const restWithin = 100 * time.Millisecond

// awaitWrite polls the byte that the peer writes last. In between, it checks whether the connection has ended.
func (n *node) awaitWrite(ctx context.Context, last mem.PeerByte, want byte) error {
	const atOnce = 50 * time.Microsecond
	for {
		if written, err := last.SpinUntil(want, atOnce); written || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		event, err := n.connect.Dequeue()
		if err == nil {
			n.connected = false
			return event.Number
		}
		if !errors.Is(err, udat.ErrQueueEmpty) {
			return err
		}
	}
}
