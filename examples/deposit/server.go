package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// step: listen
func (n *node) takeRequest(ctx context.Context, qual udat.ConnQual, listening func()) (*udat.CR, error) {
	requests, err := udat.CreateEVD(n.ia, 8, nil, udat.EVDCR)
	if err != nil {
		return nil, err
	}
	if _, err := udat.CreatePSP(n.ia, qual, requests); err != nil {
		return nil, err
	}
	fmt.Printf("deposit: waiting for a client at qualifier %d\n", qual)
	listening()
	event, err := requests.Wait(ctx)
	if err != nil {
		return nil, err
	}
	cr := event.CR()
	param, err := cr.Query()
	if err != nil {
		return nil, err
	}
	if request := param.PrivateData; len(request) >= requestSize && binary.BigEndian.Uint32(request) == magic {
		n.bytes = int(binary.BigEndian.Uint32(request[4:]))
	}
	if n.bytes < 1 || n.bytes > maxBytes {
		return nil, errors.Join(errors.New("the client is not a deposit client"), cr.Reject(nil))
	}
	return cr, nil
}

// step: accept
func (n *node) accept(ctx context.Context, cr *udat.CR) error {
	if err := n.allocate(n.bytes, udat.MemPrivRemoteWrite); err != nil {
		return err
	}
	if err := n.postReceive(); err != nil {
		return err
	}
	place, err := n.lmr.RMRTriplet(0, n.bytes)
	if err != nil {
		return err
	}
	private, err := place.AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := cr.Accept(n.ep, private); err != nil {
		return err
	}
	_, err = n.waitConnection(ctx, udat.EventConnectionEstablished)
	return err
}

// step: serve
func (n *node) serve(ctx context.Context, qual udat.ConnQual, listening func()) error {
	cr, err := n.takeRequest(ctx, qual, listening)
	if err != nil {
		return err
	}
	if err := n.accept(ctx, cr); err != nil {
		return err
	}
	for !n.received {
		if err := n.progress(ctx); err != nil {
			return err
		}
	}
	if int(n.message()) != n.bytes {
		return errors.New("the client has not written all")
	}
	value := sum(n.lmr.Bytes()[:n.bytes])
	fmt.Printf("deposit: got %d bytes, sum 0x%08x\n", n.bytes, value)
	if err := n.send(value); err != nil {
		return err
	}
	for !n.sent {
		if err := n.progress(ctx); err != nil {
			return err
		}
	}
	if err := n.ep.Disconnect(udat.CloseGraceful); err != nil {
		return err
	}
	_, err = n.waitConnection(ctx, udat.EventConnectionDisconnected)
	return err
}
