package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// The first byte of each message.
const (
	fromClient = 0x55
	fromServer = 0xaa
)

// headerSize is the size of the part of a message that both sides check.
const headerSize = 12

// header is the beginning of a message, in the C program's layout.
type header struct {
	from       byte
	connection uint32
	number     uint32 // counts the messages of the connection, from 1
}

func (h header) put(b []byte) {
	b[0] = h.from
	binary.BigEndian.PutUint32(b[4:], h.connection)
	binary.BigEndian.PutUint32(b[8:], h.number)
}

func parseHeader(b []byte) header {
	return header{b[0], binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])}
}

func (h header) String() string {
	return fmt.Sprintf("message %d of connection %d, kind %#x", h.number, h.connection, h.from)
}

// silence is the longest time without output in a long run.
const silence = 2 * time.Second

// transfer sends and answers all bursts. It fails when a connection ends, which a shared queue does not show: its receives
// stay posted.
func (n *node) transfer(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ended udat.Event
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		event, err := n.connect.Wait(ctx)
		if err == nil {
			ended = event
			cancel()
		}
	}()
	err := testprogram.Attempt(func() { n.exchangeBursts(ctx) })
	if status := udat.DTOSuccess; errors.As(err, &status) || errors.Is(err, udat.ErrInvalidState) {
		// The connection has ended. Report how.
		select {
		case <-watched:
		case <-time.After(patience):
		}
	}
	cancel()
	<-watched
	if ended.Number != 0 {
		n.connected--
	}
	switch {
	case err == nil || ended.Number == 0:
		check(err)
	case errors.Is(err, context.Canceled):
		check(fmt.Errorf("a connection ended too early, with %v", ended.Number))
	default:
		check(fmt.Errorf("%w, a connection ended with %v", err, ended.Number))
	}
}

func (n *node) exchangeBursts(ctx context.Context) {
	said := time.Now()
	for burst := range n.bursts {
		if err := testprogram.Attempt(func() { n.exchangeBurst(ctx, burst) }); err != nil {
			check(fmt.Errorf("burst %d: %w", burst+1, err))
		}
		if time.Since(said) > silence {
			say("%d of %d bursts", burst+1, n.bursts)
			said = time.Now()
		}
	}
	if n.server() {
		return
	}
	// Before it leaves, the client sends one more message on each connection, which the server ignores, and waits a moment. The
	// last answers arrive here before the server's adapter knows. If the connection ends in between, the C server fails.
	for i := range n.eps {
		n.send(i*n.messages, header{fromClient, uint32(i), n.last[i] + 1}, udat.CompletionDefault)
	}
	n.collectSends(ctx, len(n.eps))
	check(testprogram.UntilPeerHears(ctx))
}

// exchangeBurst makes the client send and the server answer, on all connections at the same time.
func (n *node) exchangeBurst(ctx context.Context, burst int) {
	if !n.server() {
		n.sendBurst(burst, fromClient, udat.CompletionDefault)
		n.takeBurst(ctx, fromServer)
		n.collectSends(ctx, n.slots())
		return
	}
	n.takeBurst(ctx, fromClient)
	if burst < n.bursts-1 {
		n.sendBurst(burst, fromServer, udat.CompletionDefault)
		n.collectSends(ctx, n.slots())
		return
	}
	// The client may leave as soon as it has the last answers, before this side has their completions. Its graceful disconnect
	// shows that they have arrived.
	n.sendBurst(burst, fromServer, udat.CompletionSuppress)
}

func (n *node) sendBurst(burst int, from byte, flags udat.CompletionFlags) {
	for slot := range n.slots() {
		n.send(slot, header{from, uint32(slot / n.messages), uint32(burst*n.messages + slot%n.messages + 1)}, flags)
	}
}

func (n *node) send(slot int, h header, flags udat.CompletionFlags) {
	h.put(n.out.Bytes()[slot*n.size:])
	n.sayMore("sending %v", h)
	if err := n.eps[h.connection].PostSend([]udat.Segment{must(n.out.Segment(slot*n.size, n.size))}, uint64(slot), flags); err != nil {
		check(fmt.Errorf("%v: %w", h, err))
	}
}

// collectSends waits for count completions. Those of different connections come in any order.
func (n *node) collectSends(ctx context.Context, count int) {
	for range count {
		if event := must(take(ctx, n.request)); int(event.Length) != n.size {
			check(fmt.Errorf("%d bytes were sent of a message of %d", event.Length, n.size))
		}
	}
}

// takeBurst waits for the messages of a burst, which come in order on each connection, and posts their receives again.
func (n *node) takeBurst(ctx context.Context, from byte) {
	for range n.slots() {
		event := must(take(ctx, n.recv))
		slot := int(event.Cookie)
		if int(event.Length) != n.size {
			check(fmt.Errorf("a message of %d bytes came, want %d: give both sides the same -b", event.Length, n.size))
		}
		h := parseHeader(n.in.Bytes()[slot*n.size:][:headerSize])
		n.sayMore("%v came to slot %d", h, slot)
		switch {
		case h.from != from:
			check(fmt.Errorf("%v, want kind %#x", h, from))
		case int64(h.connection) >= int64(n.connections):
			check(fmt.Errorf("%v, there are %d connections: give both sides the same -c", h, n.connections))
		case n.srq == nil && int(h.connection) != slot/n.messages:
			check(fmt.Errorf("%v came on connection %d", h, slot/n.messages))
		case h.number != n.last[h.connection]+1:
			check(fmt.Errorf("%v, want message %d", h, n.last[h.connection]+1))
		}
		n.last[h.connection] = h.number
		n.post(slot)
	}
}
