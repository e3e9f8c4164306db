package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/dtestparams"
	"github.com/goudat/goudat/udat"
)

const (
	connectTimeout = 100 * time.Second
	// patience is how long the client tries again when a server that is just
	// starting does not listen yet, and how long it waits for an orderly end.
	patience = 20 * time.Second
)

// dial is the client: it connects, transfers, and disconnects.
func dial(ctx context.Context, o options) error {
	p, err := askParameters(ctx, o.host)
	if err != nil {
		return err
	}
	if o.provider == "" {
		o.provider = p.Provider
	}
	// The C server tells its address first and listens then: it may reject a
	// client that comes in between.
	deadline := time.Now().Add(patience)
	for {
		rejected, err := dialOnce(ctx, o, p)
		if rejected && time.Now().After(deadline) {
			return fmt.Errorf("nobody listens there: start the server first (%w)", err)
		}
		if !rejected {
			return err
		}
		say("the server does not listen yet")
	}
}

// dialOnce makes one attempt, and reports whether nobody listened.
func dialOnce(ctx context.Context, o options, p dtestparams.Parameters) (rejected bool, err error) {
	n, err := newNode(o)
	defer func() {
		if err = errors.Join(err, n.close()); err == nil {
			n.report()
		}
	}()
	if err != nil {
		return false, err
	}
	start := time.Now()
	if err := n.ep.Connect(p.Address, qualifier, connectTimeout, privateData(1)); err != nil {
		return false, err
	}
	event, err := n.expect(ctx, udat.EventConnectionEstablished)
	n.times.connect = time.Since(start)
	if err != nil {
		return event.Number == udat.EventConnectionNonPeerRejected, err
	}
	say("connected")
	n.connected = true
	if err := checkPrivateData(event.PrivateData(), 2); err != nil {
		return false, errors.Join(fmt.Errorf("the server's answer: %w", err), n.disconnect(ctx))
	}
	if err := n.transfer(ctx); err != nil {
		return false, errors.Join(err, n.disconnect(ctx))
	}
	return false, n.disconnect(ctx)
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
	_, err := n.expect(ctx, udat.EventConnectionDisconnected)
	return err
}

// askParameters gets from the server what is needed to connect.
func askParameters(ctx context.Context, host string) (dtestparams.Parameters, error) {
	conn, err := dtestparams.Dial(ctx, host)
	if err != nil {
		return dtestparams.Parameters{}, err
	}
	defer conn.Close()
	p, err := conn.Receive()
	if err == nil {
		say("the server has %s at %v", p.Provider, p.Address)
	}
	return p, err
}
