package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/goudat/goudat/examples/interop/internal/dtestparams"
	"github.com/goudat/goudat/examples/interop/internal/pause"
	"github.com/goudat/goudat/udat"
)

// serve runs the server for one client.
func serve(ctx context.Context, o options) (err error) {
	n, err := newNode(o)
	defer func() {
		if err = errors.Join(err, n.close()); err == nil {
			n.report()
		}
	}()
	if err != nil {
		return err
	}
	// The service point must exist before the client learns the address.
	psp, err := udat.CreatePSP(n.ia, qualifier, n.requests)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, psp.Free()) }()
	provider := o.provider
	if provider == "" {
		provider = n.ia.Name()
	}
	if err := offerParameters(ctx, dtestparams.Parameters{Address: n.attr.Address, Provider: provider}); err != nil {
		return err
	}
	if err := n.accept(ctx); err != nil {
		return err
	}
	if err := n.transfer(ctx); err != nil {
		return err
	}
	if _, err := n.expect(ctx, udat.EventConnectionDisconnected); err != nil {
		return err
	}
	n.sayMore("the client has left")
	return nil
}

// offerParameters waits for a client and tells it where to connect.
func offerParameters(ctx context.Context, p dtestparams.Parameters) error {
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
	return conn.Send(p)
}

func (n *node) accept(ctx context.Context) error {
	event, err := n.requests.Wait(ctx)
	if err != nil {
		return err
	}
	cr := event.CR()
	if err := pause.For(ctx, n.o.delay); err != nil {
		return errors.Join(err, cr.Reject(nil))
	}
	request, err := cr.Query()
	if err != nil {
		return err
	}
	if err := checkPrivateData(request.PrivateData, 1); err != nil {
		return errors.Join(fmt.Errorf("the client's request: %w", err), cr.Reject(nil))
	}
	if err := cr.Accept(n.ep, privateData(2)); err != nil {
		return err
	}
	if _, err := n.expect(ctx, udat.EventConnectionEstablished); err != nil {
		return err
	}
	say("connected")
	return nil
}
