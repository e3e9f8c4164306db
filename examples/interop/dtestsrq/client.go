package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/interop/internal/pause"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

const (
	connectTimeout = 100 * time.Second
	// patience is how long the client tries again when a server that is just
	// starting does not listen yet, and how long it waits for an orderly end.
	patience = 20 * time.Second
	// between is the time from one attempt to the next.
	between = 20 * time.Millisecond
)

// dial is the client: it connects, transfers, and disconnects.
func dial(ctx context.Context, o options) (err error) {
	n, err := newNode(o)
	defer func() { err = errors.Join(err, n.close()) }()
	if err != nil {
		return err
	}
	server, err := adapter.Resolve(ctx, n.ia, o.host)
	if err != nil {
		return fmt.Errorf("-h: %w", err)
	}
	if err := n.connectTo(ctx, server); err != nil {
		return err
	}
	err = n.transfer(ctx)
	return errors.Join(err, n.disconnect(ctx))
}

// connectTo connects all endpoints: the first one by itself, to see that there is
// a server, and then the others at a time.
func (n *node) connectTo(ctx context.Context, server netip.Addr) error {
	say("connecting to %v, port %d", server, n.o.qualifier)
	if err := n.connectFirst(ctx, server); err != nil {
		return err
	}
	for i := 1; i < len(n.eps); i++ {
		if err := n.eps[i].Connect(server, n.o.qualifier, connectTimeout, endpointNumber(i)); err != nil {
			return err
		}
	}
	for range n.eps[1:] {
		if _, err := n.connect.Expect(ctx, udat.EventConnectionEstablished); err != nil {
			return err
		}
	}
	n.connected = len(n.eps)
	say("all %d connected", n.connected)
	return nil
}

func (n *node) connectFirst(ctx context.Context, server netip.Addr) error {
	deadline := time.Now().Add(patience)
	for {
		if err := n.eps[0].Connect(server, n.o.qualifier, connectTimeout, endpointNumber(0)); err != nil {
			return err
		}
		event, err := n.connect.Expect(ctx, udat.EventConnectionEstablished)
		if event.Number != udat.EventConnectionNonPeerRejected {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nobody listens there: start the server first (%w)", err)
		}
		n.sayMore("nobody listens")
		if err := pause.For(ctx, between); err != nil {
			return err
		}
		if err := n.renewFirst(ctx); err != nil {
			return err
		}
	}
}

// renewFirst makes the first endpoint as it was. Receives of its own are lost with
// a connection that has failed.
func (n *node) renewFirst(ctx context.Context) error {
	if err := n.eps[0].Reset(); err != nil || n.srq != nil {
		return err
	}
	if err := testprogram.TakeFlushed(ctx, n.recv, n.o.messages); err != nil {
		return err
	}
	for slot := range n.o.messages {
		if err := n.post(slot); err != nil {
			return err
		}
	}
	return nil
}

// disconnect ends the connections that the server has not ended.
func (n *node) disconnect(ctx context.Context) error {
	if n.connected == 0 {
		return nil
	}
	for _, ep := range n.eps {
		if err := ep.Disconnect(udat.CloseAbrupt); err != nil {
			return err
		}
	}
	// After an interrupt, too, the server is to see an end in order.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return n.awaitDisconnects(ctx)
}

func (n *node) awaitDisconnects(ctx context.Context) error {
	for ; n.connected > 0; n.connected-- {
		if _, err := n.connect.Expect(ctx, udat.EventConnectionDisconnected); err != nil {
			return err
		}
	}
	return nil
}

// endpointNumber is the private data: which of the server's endpoints is to be
// connected.
func endpointNumber(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }

// parseEndpointNumber looks at the beginning only: providers pad private data.
func parseEndpointNumber(b []byte) (uint32, error) {
	if len(b) < 4 {
		return 0, fmt.Errorf("private data % x, want the number of an endpoint, of 4 bytes", b)
	}
	return binary.BigEndian.Uint32(b), nil
}
