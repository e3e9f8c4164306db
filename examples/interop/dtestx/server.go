package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/goudat/goudat/examples/interop/internal/dtestparams"
	"github.com/goudat/goudat/udat"
)

// serve runs the server for one client.
func serve(ctx context.Context, o options) (err error) {
	n := &node{o: o}
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.open(); err != nil {
		return err
	}
	if err := n.prepare(); err != nil {
		return err
	}
	// The service point must exist before the client learns the address.
	psp, err := udat.CreatePSP(n.ia, qualifier, n.requests)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, psp.Free()) }()
	if err := n.exchangeParameters(ctx); err != nil {
		return err
	}
	if err := n.accept(ctx); err != nil {
		return err
	}
	if err := n.test(ctx); err != nil {
		return err
	}
	if n.connected { // the client does more than this side sees
		_, err = n.connect.Expect(ctx, udat.EventConnectionDisconnected)
	}
	return err
}

// exchangeParameters waits for a client and tells it where to connect. The client's parameters are for datagrams, for
// which the server connects, too.
func (n *node) exchangeParameters(ctx context.Context) error {
	listener, err := dtestparams.Listen(ctx)
	if err != nil {
		return err
	}
	say("waiting for a client at port %d", dtestparams.Port)
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	provider := n.o.provider
	if provider == "" {
		provider = n.ia.Name()
	}
	if err := conn.Send(dtestparams.Parameters{Address: n.attr.Address, Provider: provider}); err != nil {
		return err
	}
	client, err := conn.Receive()
	if err == nil {
		say("the client has %s at %v", client.Provider, client.Address)
	}
	return err
}

func (n *node) accept(ctx context.Context) error {
	event, err := n.requests.Wait(ctx)
	if err != nil {
		return err
	}
	cr := event.CR()
	request, err := cr.Query()
	if err != nil {
		return err
	}
	if err := checkPrivateData(request.PrivateData); err != nil {
		return errors.Join(fmt.Errorf("the client's request: %w", err), cr.Reject(nil))
	}
	if err := cr.Accept(n.ep, endpointNumber); err != nil {
		return err
	}
	if _, err := n.connect.Expect(ctx, udat.EventConnectionEstablished); err != nil {
		return err
	}
	say("connected")
	n.connected = true
	return nil
}
