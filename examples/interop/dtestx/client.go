package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/dtestparams"
	"github.com/goudat/goudat/examples/interop/internal/pause"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

const (
	connectTimeout = 30 * time.Second
	// listens is how long the client tries again: the C server may take longer to
	// listen than the client to prepare.
	listens = 20 * time.Second
)

// dial is the client: it connects, tests, and disconnects.
func dial(ctx context.Context, o options) (err error) {
	conn, err := dtestparams.Dial(ctx, o.host)
	if err != nil {
		return err
	}
	defer conn.Close()
	server, err := conn.Receive()
	if err != nil {
		return err
	}
	say("the server has %s at %v", server.Provider, server.Address)
	if o.provider == "" {
		o.provider = server.Provider
	}
	n := &node{o: o}
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.open(); err != nil {
		return err
	}
	// The C server begins to listen when it has this.
	if err := conn.Send(dtestparams.Parameters{Address: n.attr.Address, Provider: o.provider}); err != nil {
		return err
	}
	if err := n.prepare(); err != nil {
		return err
	}
	event, err := n.connectTo(ctx, server)
	if err != nil {
		return err
	}
	say("connected")
	n.connected = true
	err = checkPrivateData(event.PrivateData())
	if err == nil {
		err = n.test(ctx)
	}
	return errors.Join(err, n.disconnect(ctx))
}

// connectTo tries again for a while when nobody listens.
func (n *node) connectTo(ctx context.Context, server dtestparams.Parameters) (udat.Event, error) {
	deadline := time.Now().Add(listens)
	for {
		if err := n.ep.Connect(server.Address, qualifier, connectTimeout, endpointNumber); err != nil {
			return udat.Event{}, err
		}
		event, err := n.connect.Expect(ctx, udat.EventConnectionEstablished)
		if event.Number != udat.EventConnectionNonPeerRejected {
			return event, err
		}
		if time.Now().After(deadline) {
			return event, fmt.Errorf("nobody listens there: start the server first (%w)", err)
		}
		say("the server does not listen yet")
		if err := pause.For(ctx, between); err != nil {
			return event, err
		}
		if err := n.ep.Reset(); err != nil {
			return event, err
		}
		if err := testprogram.TakeFlushed(ctx, n.recv, receives); err != nil {
			return event, err
		}
		if err := n.postReceives(); err != nil {
			return event, err
		}
	}
}

// disconnect leaves a server that has not left by itself.
func (n *node) disconnect(ctx context.Context) error {
	if !n.connected {
		return nil
	}
	if err := n.ep.Disconnect(udat.CloseAbrupt); err != nil {
		return err
	}
	// After an interrupt, too, the server is to see an end in order.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_, err := n.connect.Expect(ctx, udat.EventConnectionDisconnected)
	return err
}
