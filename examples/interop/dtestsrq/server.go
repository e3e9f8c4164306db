package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// serve runs the server for one client.
func serve(ctx context.Context, o options) (err error) {
	n, err := newNode(o)
	defer func() { err = errors.Join(err, n.close()) }()
	if err != nil {
		return err
	}
	psp, err := udat.CreatePSP(n.ia, n.o.qualifier, n.requests)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, psp.Free()) }()
	say("waiting for a client at port %d", n.o.qualifier)
	if err := n.acceptAll(ctx); err != nil {
		return err
	}
	if err := n.transfer(ctx); err != nil {
		return err
	}
	return n.awaitDisconnects(ctx)
}

func (n *node) acceptAll(ctx context.Context) error {
	accepted := make([]bool, len(n.eps))
	event, err := n.requests.Wait(ctx)
	for i := range n.eps {
		if i > 0 {
			event, err = take(ctx, n.requests)
		}
		if err != nil {
			return fmt.Errorf("waiting for connection %d: %w", i+1, err)
		}
		if err := n.accept(event.CR(), accepted); err != nil {
			return err
		}
	}
	for range n.eps {
		if _, err := n.connect.Expect(ctx, udat.EventConnectionEstablished); err != nil {
			return err
		}
	}
	n.connected = len(n.eps)
	say("all %d connected", n.connected)
	return nil
}

// accept accepts on the endpoint that the client requests.
func (n *node) accept(cr *udat.CR, accepted []bool) error {
	request, err := cr.Query()
	if err != nil {
		return err
	}
	number, err := parseEndpointNumber(request.PrivateData)
	switch {
	case err != nil:
	case int64(number) >= int64(len(n.eps)):
		err = fmt.Errorf("there is no endpoint %d: give both sides the same -c", number)
	case accepted[number]:
		err = fmt.Errorf("endpoint %d is connected already: is there another client?", number)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the client's request: %w", err), cr.Reject(nil))
	}
	accepted[number] = true
	n.sayMore("accepting on endpoint %d", number)
	return cr.Accept(n.eps[number], endpointNumber(int(number)))
}
