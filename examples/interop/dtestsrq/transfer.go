package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/pause"
	"github.com/goudat/goudat/udat"
)

// silence is the longest time without output in a long run.
const silence = 2 * time.Second

// transfer sends and answers all bursts. It fails when a connection ends, which a shared queue does not show: its
// receives stay posted.
func (n *node) transfer(ctx context.Context) error {
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
	err := n.exchangeBursts(ctx)
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
		return err
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("a connection ended too early, with %v", ended.Number)
	}
	return fmt.Errorf("%w, a connection ended with %v", err, ended.Number)
}

func (n *node) exchangeBursts(ctx context.Context) error {
	said := time.Now()
	for burst := range n.o.bursts {
		if err := n.exchangeBurst(ctx, burst); err != nil {
			return fmt.Errorf("burst %d: %w", burst+1, err)
		}
		if time.Since(said) > silence {
			say("%d of %d bursts", burst+1, n.o.bursts)
			said = time.Now()
		}
	}
	if n.o.server() {
		return nil
	}
	return n.settle(ctx)
}

// exchangeBurst makes the client send and the server answer, on all connections at the same time.
func (n *node) exchangeBurst(ctx context.Context, burst int) error {
	if !n.o.server() {
		if err := n.sendBurst(burst, fromClient, udat.CompletionDefault); err != nil {
			return err
		}
		if err := n.takeBurst(ctx, fromServer); err != nil {
			return err
		}
		return n.collectSends(ctx, n.o.slots())
	}
	if err := n.takeBurst(ctx, fromClient); err != nil {
		return err
	}
	if burst < n.o.bursts-1 {
		if err := n.sendBurst(burst, fromServer, udat.CompletionDefault); err != nil {
			return err
		}
		return n.collectSends(ctx, n.o.slots())
	}
	// The client may leave as soon as it has the last answers, before this side has their completions. Its graceful
	// disconnect shows that they have arrived.
	return n.sendBurst(burst, fromServer, udat.CompletionSuppress)
}

func (n *node) sendBurst(burst int, from byte, flags udat.CompletionFlags) error {
	for slot := range n.o.slots() {
		h := header{from, uint32(slot / n.o.messages), uint32(burst*n.o.messages + slot%n.o.messages + 1)}
		if err := n.send(slot, h, flags); err != nil {
			return fmt.Errorf("%v: %w", h, err)
		}
	}
	return nil
}

func (n *node) send(slot int, h header, flags udat.CompletionFlags) error {
	segment, err := n.out.Segment(slot*n.o.size, n.o.size)
	if err != nil {
		return err
	}
	h.put(n.out.Bytes()[slot*n.o.size:])
	n.sayMore("sending %v", h)
	return n.eps[h.connection].PostSend([]udat.Segment{segment}, uint64(slot), flags)
}

// collectSends waits for count completions. Those of different connections come in any order.
func (n *node) collectSends(ctx context.Context, count int) error {
	for range count {
		event, err := take(ctx, n.request)
		if err != nil {
			return err
		}
		if int(event.Length) != n.o.size {
			return fmt.Errorf("%d bytes were sent of a message of %d", event.Length, n.o.size)
		}
	}
	return nil
}

// takeBurst waits for the messages of a burst, which come in order on each connection, and posts their receives again.
func (n *node) takeBurst(ctx context.Context, from byte) error {
	for range n.o.slots() {
		event, err := take(ctx, n.recv)
		if err != nil {
			return err
		}
		slot := int(event.Cookie)
		if int(event.Length) != n.o.size {
			return fmt.Errorf("a message of %d bytes came, want %d: give both sides the same -b", event.Length, n.o.size)
		}
		h := parseHeader(n.in.Bytes()[slot*n.o.size:][:headerSize])
		n.sayMore("%v came to slot %d", h, slot)
		if err := n.check(h, slot, from); err != nil {
			return err
		}
		if err := n.post(slot); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) check(h header, slot int, from byte) error {
	switch {
	case h.from != from:
		return fmt.Errorf("%v, want kind %#x", h, from)
	case int64(h.connection) >= int64(n.o.connections):
		return fmt.Errorf("%v, there are %d connections: give both sides the same -c", h, n.o.connections)
	case n.srq == nil && int(h.connection) != slot/n.o.messages:
		return fmt.Errorf("%v came on connection %d", h, slot/n.o.messages)
	case h.number != n.last[h.connection]+1:
		return fmt.Errorf("%v, want message %d", h, n.last[h.connection]+1)
	}
	n.last[h.connection] = h.number
	return nil
}

// settle makes the client send one more message on each connection before it leaves, and wait a moment. The server
// ignores these messages. The last answers arrive here before the server's adapter knows. If the connection ends in
// between, the C server fails.
func (n *node) settle(ctx context.Context) error {
	for i := range n.eps {
		h := header{fromClient, uint32(i), n.last[i] + 1}
		if err := n.send(i*n.o.messages, h, udat.CompletionDefault); err != nil {
			return err
		}
	}
	if err := n.collectSends(ctx, len(n.eps)); err != nil {
		return err
	}
	return pause.UntilPeerHears(ctx)
}
