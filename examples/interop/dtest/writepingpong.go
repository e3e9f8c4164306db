package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

// pingPongSizes lists the sizes that -W goes through, in order.
func (o options) pingPongSizes() []int {
	if !o.allSizes {
		return []int{o.size}
	}
	var sizes []int
	around := func(size int) {
		if size > 4 {
			sizes = append(sizes, size-1)
		}
		sizes = append(sizes, size)
		if size > 1 && size < o.size {
			sizes = append(sizes, size+1)
		}
	}
	if o.increment > 0 {
		for size := o.increment; size <= o.size; size += o.increment {
			around(size)
		}
		return sizes
	}
	// The last one is the first power of two that is not below the size.
	for size := 1; ; size *= 2 {
		around(size)
		if size >= o.size {
			return sizes
		}
	}
}

// writesBackAndForth makes the sides write in turn. Only the last byte, which counts the writes, shows a side that the other
// has written.
func (n *node) writesBackAndForth(ctx context.Context) {
	say("RDMA writes back and forth")
	for _, size := range n.pingPongSizes() {
		start := time.Now()
		n.writesInTurn(ctx, size)
		n.times.roundTrips = time.Since(start)
		if n.allSizes {
			n.times.printRoundTrips(n.options, size)
		}
	}
	if n.server() {
		return
	}
	// The client reads a byte before it leaves, and waits a moment. The last write is in its memory before the server's adapter
	// knows. If the connection ends in between, the C server fails.
	check(n.ep.PostRDMARead([]udat.Segment{must(n.out.Segment(0, 1))}, readCookie, n.remote, udat.CompletionDefault))
	must(n.collect(ctx, n.request, &n.times.writePolls, readCookie, 1))
	check(testprogram.UntilPeerHears(ctx))
}

func (n *node) writesInTurn(ctx context.Context, size int) {
	segment := []udat.Segment{must(n.out.Segment(0, size))}
	in, out := n.in.Bytes()[:size], n.out.Bytes()[:size]
	last := must(mem.PeerByteAt(n.in, size-1))
	// The registered memory has room for sizes slightly above -b.
	remote := n.remote
	remote.SegmentLength = uint32(size)
	for i := range n.burst {
		count := byte(i + 1)
		if n.server() {
			n.awaitWrite(ctx, last, count)
		}
		if n.checkData {
			n.prepare(out[:size-1], in[:size-1], i)
		}
		out[size-1] = count
		flags := n.signal(i)
		if n.server() && i == n.burst-1 {
			// The client may leave as soon as it sees this write, before this side has its completion.
			flags = udat.CompletionSuppress
		}
		check(n.ep.PostRDMAWrite(segment, uint64(i), remote, flags))
		if flags&udat.CompletionSuppress == 0 {
			// Like the C program, which never waits in this test.
			check(n.completed(must(poll(ctx, n.request, &n.times.writePolls)), uint64(i), size))
		}
		if n.server() {
			continue
		}
		n.awaitWrite(ctx, last, count)
		if n.checkData && !whole(func() bool { return bytes.Equal(in, out) }) {
			check(fmt.Errorf("write %d of %d bytes came back changed", i, size))
		}
	}
}

var patterns = []byte{0, 0xff, 0x55, 0xaa}

// prepare makes the content of write i. The client writes patterns and, after the last one, random bytes. The server returns
// what it received.
func (n *node) prepare(out, in []byte, i int) {
	which := i % (len(patterns) + 1)
	switch {
	case n.server():
		if which < len(patterns) && !whole(func() bool { return bytes.Count(in, patterns[which:which+1]) == len(in) }) {
			check(fmt.Errorf("write %d is not all %#02x", i, patterns[which]))
		}
		copy(out, in)
	case which < len(patterns):
		fill(out, patterns[which])
	default:
		rand.Read(out)
	}
}

// restWithin is far longer than the rest of a write takes.
const restWithin = 100 * time.Millisecond

// whole polls until all bytes of the write are there: soft-RoCE may write the last byte before others.
func whole(isWhole func() bool) bool {
	for begin := time.Now(); !isWhole(); {
		if time.Since(begin) > restWithin {
			return false
		}
	}
	return true
}

// awaitWrite polls the byte that the peer writes last. In between, it checks whether the connection has ended.
func (n *node) awaitWrite(ctx context.Context, last mem.PeerByte, want byte) {
	const atOnce = 50 * time.Microsecond
	for !must(last.SpinUntil(want, atOnce)) {
		check(ctx.Err())
		event, err := n.connect.Dequeue()
		if err == nil {
			check(event.Number)
		}
		if !errors.Is(err, udat.ErrQueueEmpty) {
			check(err)
		}
	}
}
