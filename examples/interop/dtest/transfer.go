package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

const (
	// The initial content of the regions, apart from texts at their beginning.
	fillIn  = 'a'
	fillOut = 'b'

	// The first byte of each message that goes back and forth.
	fromClient = 0x55
	fromServer = 0xaa

	noteCookie = 0xaaaa
	readCookie = 0x9999
	immediate  = 0x7777
)

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}

// transfer runs the transfers that the flags select, on an established connection.
func (n *node) transfer(ctx context.Context) {
	n.exchangePlaces(ctx)
	switch {
	case n.writePingPong:
		n.writesBackAndForth(ctx)
		return
	case n.writeOnly && n.attr.ExtensionSupported:
		n.writeImmediate(ctx)
		return
	}
	n.writeBurst(ctx)
	// The C program decides in the same way, so that both sides of a pair agree.
	if !n.writeOnly && n.provider.ProviderSpecificAttr["DAT_IB_RDMA_READ"] == "TRUE" {
		n.readBurst(ctx)
		n.pingPong(ctx)
	}
}

// A note is a message with the place of the sender's memory. The first note is read. The later ones have the same content;
// their arrival means that writes or reads are done.

// sendNote posts a note. Only the first has a completion: the peer's answer shows that the others have arrived.
func (n *node) sendNote(flags udat.CompletionFlags) {
	place := must(must(n.in.RMRTriplet(0, n.size)).AppendBinary(nil))
	copy(n.notes.Bytes()[notes*udat.RMRTripletSize:], place)
	check(n.ep.PostSend(n.note(notes), noteCookie, flags))
}

// takeNote waits for the peer's next note.
func (n *node) takeNote(ctx context.Context, polls *int) error {
	if _, err := n.collect(ctx, n.recv, polls, uint64(n.notesSeen), udat.RMRTripletSize); err != nil {
		return fmt.Errorf("waiting for the %s's note: %w", n.peer(), err)
	}
	var place udat.RMRTriplet
	check(place.UnmarshalBinary(n.notes.Bytes()[n.notesSeen*udat.RMRTripletSize:][:udat.RMRTripletSize]))
	n.notesSeen++
	if n.notesSeen == 1 {
		n.remote = place
		say("the %s's memory: %d bytes at %#x, context %#x", n.peer(), place.SegmentLength, place.VirtualAddress, place.RMRContext)
		if int64(place.SegmentLength) != int64(n.size) {
			return fmt.Errorf("the %s has %d bytes and this side %d: give both the same -b", n.peer(), place.SegmentLength, n.size)
		}
	} else if place != n.remote {
		return fmt.Errorf("the %s's memory has moved, from %v to %v", n.peer(), n.remote, place)
	}
	return nil
}

// exchangePlaces tells the peer where this side's memory is, and learns where the peer's is. The client sends first: over
// iWARP a server that does so may lose the connection. An error in the peer's note has precedence: it makes the peer leave,
// perhaps before this side's note is known to have arrived. A side that finds an error does not leave before the peer has
// its note.
func (n *node) exchangePlaces(ctx context.Context) {
	var wrong error
	if n.server() {
		wrong = n.takeNote(ctx, &n.times.msgPolls)
	}
	n.sendNote(udat.CompletionDefault)
	if !n.server() {
		wrong = n.takeNote(ctx, &n.times.msgPolls)
	}
	_, err := n.collect(ctx, n.request, &n.times.msgPolls, noteCookie, udat.RMRTripletSize)
	check(cmp.Or(wrong, err))
}

// crossNotes exchanges notes after writes. The client's note follows its writes; the server's answer follows its own.
func (n *node) crossNotes(ctx context.Context) {
	if n.server() {
		check(n.takeNote(ctx, &n.times.writePolls))
		n.sendNote(udat.CompletionSuppress)
		return
	}
	n.sendNote(udat.CompletionSuppress)
	check(n.takeNote(ctx, &n.times.writePolls))
}

// Who writes, and where something is written.
func (n *node) writes() bool  { return !n.unidirectional || !n.server() }
func (n *node) written() bool { return !n.unidirectional || n.server() }

func writeText(who string) string { return who + " RDMA write data..." }

// putText writes a zero-terminated text, truncated if there is no room.
func (n *node) putText(lmr *udat.LMR, text string) { copy(lmr.Bytes()[:n.size], text+"\x00") }

// checkText checks the text that the peer has written.
func (n *node) checkText(b []byte) {
	want := writeText(n.peer())
	want = want[:min(len(want), len(b))]
	if !bytes.HasPrefix(b, []byte(want)) {
		check(fmt.Errorf("there is %q where the %s should have written %q", b[:min(len(b), 64)], n.peer(), want))
	}
	say("the %s wrote %q", n.peer(), want)
}

// writeBurst writes the peer's memory many times and exchanges notes.
func (n *node) writeBurst(ctx context.Context) {
	say("RDMA writes, then a message")
	start := time.Now()
	n.putText(n.out, writeText(n.role()))
	if n.writes() {
		n.postWrites(ctx, n.burst)
	}
	n.crossNotes(ctx)
	n.times.write = time.Since(start)
	if n.written() {
		n.checkText(n.in.Bytes()[:n.size])
	}
}

// writeImmediate is writeBurst with immediate data in the last write. The other side waits for it before it sends its note.
func (n *node) writeImmediate(ctx context.Context) {
	say("RDMA writes, the last one with immediate data, then a message")
	start := time.Now()
	last := n.burst - 1
	n.putText(n.out, fmt.Sprintf("%srdma writes completed == %d", writeText(n.role()), n.burst))
	n.out.Bytes()[n.size-1] = byte(last)
	if n.writes() {
		n.postWrites(ctx, last)
		flags := n.signal(last)
		check(n.ep.PostRDMAWriteImmed(n.region(), uint64(last), n.remote, immediate, flags))
		n.collectWrite(ctx, last, flags)
	}
	if n.written() {
		n.takeImmediate(ctx)
	}
	n.crossNotes(ctx)
	n.times.write = time.Since(start)
	if n.written() {
		b := n.in.Bytes()[:n.size]
		if b[n.size-1] != byte(last) {
			check(fmt.Errorf("the last byte is %#x, and the last write has %#x", b[n.size-1], byte(last)))
		}
		n.checkText(b[:n.size-1])
	}
}

// takeImmediate waits for the value that comes with the peer's last write. It uses a receive that was posted for a note.
func (n *node) takeImmediate(ctx context.Context) {
	event, err := n.collect(ctx, n.recv, &n.times.writePolls, uint64(n.notesSeen), n.size)
	if err != nil {
		check(fmt.Errorf("waiting for the %s's last write: %w", n.peer(), err))
	}
	if event.Operation != udat.DTOIBRecvImmed || event.Immediate != immediate {
		check(fmt.Errorf("%v with immediate data %#x, want %v with %#x", event.Operation, event.Immediate, udat.DTOIBRecvImmed, immediate))
	}
	n.notesSeen++
}

// region is what is written, and read to.
func (n *node) region() []udat.Segment { return []udat.Segment{must(n.out.Segment(0, n.size))} }

// postWrites posts RDMA writes of the whole region. Their cookies count from 0.
func (n *node) postWrites(ctx context.Context, count int) {
	region := n.region()
	for i := range count {
		flags := n.signal(i)
		if err := n.ep.PostRDMAWrite(region, uint64(i), n.remote, flags); err != nil {
			check(fmt.Errorf("RDMA write %d: %w", i, err))
		}
		n.collectWrite(ctx, i, flags)
	}
}

// signal returns the flags for operation i: only some operations have completions.
func (n *node) signal(i int) udat.CompletionFlags {
	if (i+1)%n.signalRate == 0 {
		return udat.CompletionDefault
	}
	return udat.CompletionSuppress
}

func (n *node) collectWrite(ctx context.Context, i int, flags udat.CompletionFlags) {
	if flags&udat.CompletionSuppress == 0 {
		must(n.collect(ctx, n.request, &n.times.writePolls, uint64(i), n.size))
		n.sayMore("RDMA write %d completed", i+1)
	}
}

// readBurst reads the peer's memory a few times and then exchanges notes.
func (n *node) readBurst(ctx context.Context) {
	say("RDMA reads, then a message")
	region := n.region()
	clear(n.out.Bytes()[:n.size])
	n.putText(n.in, n.role()+" RDMA read data...")
	for i := range reads {
		start := time.Now()
		check(n.ep.PostRDMARead(region, readCookie, n.remote, udat.CompletionDefault))
		must(n.collect(ctx, n.request, &n.times.readPolls[i], readCookie, n.size))
		n.times.read[i] = time.Since(start)
		n.sayMore("RDMA read %d completed", i+1)
	}
	n.checkRead(n.out.Bytes()[:n.size])
	// The peer takes the note for leave to send: over iWARP a message that comes before its receive ends the connection.
	for i := range pings {
		check(n.ep.PostRecv([]udat.Segment{must(n.in.Segment(i*n.size, n.size))}, uint64(i), 0))
	}
	n.sendNote(udat.CompletionSuppress)
	check(n.takeNote(ctx, &n.times.msgPolls))
}

// checkRead checks only the bytes after the text: the peer writes the text while the first reads may already be in progress.
func (n *node) checkRead(b []byte) {
	var want byte = fillOut // this side has written its own pattern there
	if !n.writes() {
		want = fillIn
	}
	text, rest := b[:min(len(b), 32)], b[min(len(b), 32):]
	if i := bytes.IndexFunc(rest, func(r rune) bool { return r != rune(want) }); i >= 0 {
		check(fmt.Errorf("the read bytes have %#x at %d, want %#x", rest[i], len(text)+i, want))
	}
	text, _, _ = bytes.Cut(text, []byte{0})
	if len(text) == 0 {
		check(errors.New("the read bytes have no text"))
	}
	say("read %q", text)
}

// pingPong sends messages back and forth, each from and to a slot of its own. The C server posts its receives after it has
// taken the client's last note, so the client waits. With a CNO, the server may notice the note a second late.
func (n *node) pingPong(ctx context.Context) {
	say("messages back and forth")
	theirs := byte(fromClient)
	if !n.server() {
		theirs = fromServer
		peerPosts := time.Second
		if n.useCNO {
			peerPosts *= 2
		}
		check(testprogram.Pause(ctx, peerPosts))
	}
	start := time.Now()
	for i := range pings {
		if !n.server() {
			n.sendPing(i, fromClient)
		}
		if _, err := n.collect(ctx, n.recv, &n.times.msgPolls, uint64(i), n.size); err != nil {
			check(fmt.Errorf("message %d: %w", i, err))
		}
		if got := n.in.Bytes()[i*n.size]; got != theirs {
			check(fmt.Errorf("message %d starts with %#x, want %#x", i, got, theirs))
		}
		if i == 0 {
			start = time.Now() // the server has waited until now
		}
		if n.server() {
			n.sendPing(i, fromServer)
		}
	}
	n.times.roundTrips = time.Since(start)
}

// sendPing posts a message and does not wait. The answer shows that it has arrived; for the server's last message, the
// client's disconnect does.
func (n *node) sendPing(i int, first byte) {
	n.out.Bytes()[i*n.size] = first
	check(n.ep.PostSend([]udat.Segment{must(n.out.Segment(i*n.size, n.size))}, uint64(i), udat.CompletionSuppress))
}
