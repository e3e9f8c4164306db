package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// serve runs the server for one client.
func serve(ctx context.Context, s settings) (err error) {
	// The client says how large its messages are. Until then there is room for any size.
	s.sizes = []int{maxSize}
	n, err := newNode("server", s)
	defer func() { err = errors.Join(err, n.close()) }()
	if err != nil {
		return err
	}
	requests, err := udat.CreateEVD(n.ia, events, nil, udat.EVDCR)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, requests.Free()) }()
	psp, err := udat.CreatePSP(n.ia, s.qual, requests)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, psp.Free()) }()
	if err := n.postReceives(); err != nil {
		return err
	}
	attr, _, err := n.ia.Query()
	if err != nil {
		return err
	}
	announce := n.say
	if announceReady() {
		announce = n.detail
	}
	announce("listening at %v, qualifier %d", attr.Address, s.qual)

	event, err := requests.Wait(ctx)
	if err != nil {
		return err
	}
	return within(ctx, s.timeout, func(ctx context.Context) error { return n.answer(ctx, s, event.CR()) })
}

// answer accepts a client and runs what it requests.
func (n *node) answer(ctx context.Context, s settings, cr *udat.CR) error {
	request, err := cr.Query()
	if err != nil {
		return err
	}
	if s, err = s.greeted(request.PrivateData); err != nil {
		return errors.Join(err, cr.Reject(nil))
	}
	n.detail("%v asks for %d round trips each of %v bytes", request.RemoteAddress, s.count, s.sizes)
	triplet, err := n.exposed.RMRTriplet(0, exposedSize)
	if err != nil {
		return err
	}
	place, err := triplet.AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := cr.Accept(n.ep, place); err != nil {
		return err
	}
	n.status("accept")
	if _, err := n.connect.Expect(ctx, udat.EventConnectionEstablished); err != nil {
		return err
	}
	n.status("established")
	if err := n.pong(ctx, s); err != nil {
		return err
	}
	if err := n.offerMemory(ctx, s); err != nil {
		return err
	}
	if err := n.bye(ctx, s); err != nil {
		return err
	}
	n.summary.print(n, s)
	return nil
}

// pong answers each message.
func (n *node) pong(ctx context.Context, s settings) error {
	for m := range s.roundTrips() {
		if err := n.receive(ctx, m); err != nil {
			return err
		}
		m.from = fromServer
		if err := n.send(m, 1); err != nil {
			return err
		}
		if _, err := n.completion(ctx, n.request); err != nil {
			return err
		}
	}
	n.status("messages exchanged")
	return nil
}

// offerMemory checks what the client wrote, and then puts other bytes there for it to read.
func (n *node) offerMemory(ctx context.Context, s settings) error {
	next := uint64(len(s.sizes) * s.count)
	if err := n.receive(ctx, message{number: next, from: fromClient}); err != nil {
		return err
	}
	if err := (message{size: exposedSize, from: written}).check(n.exposed.Bytes()); err != nil {
		return fmt.Errorf("RDMA write: %w", err)
	}
	n.detail("RDMA write of %d bytes verified", exposedSize)
	n.summary.count(exposedSize)
	message{from: readBack}.write(n.exposed.Bytes())
	if err := n.send(message{number: next, from: fromServer}, 1); err != nil {
		return err
	}
	_, err := n.completion(ctx, n.request)
	return err
}

// bye waits until the client leaves.
func (n *node) bye(ctx context.Context, s settings) error {
	if s.graceful {
		if err := n.takeFarewell(ctx, s); err != nil {
			return fmt.Errorf("graceful disconnect: %w", err)
		}
	}
	if _, err := n.connect.Expect(ctx, udat.EventConnectionDisconnected); err != nil {
		return err
	}
	n.status("disconnected")
	flushed, err := n.flushed(ctx)
	if err != nil {
		return err
	}
	n.detail("the client has left, %d receives were flushed", flushed)
	n.status("flushed")
	return nil
}

// takeFarewell takes the client's last messages. Some of them still wait for receives while the client disconnects.
func (n *node) takeFarewell(ctx context.Context, s settings) error {
	for i := range n.farewell() {
		slot, err := n.take(ctx, s.farewell())
		if err != nil {
			return err
		}
		if i == receives-1 {
			for range n.waiting {
				if err := n.postReceive(slot); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// flushed takes the remaining completions after the end of the connection.
func (n *node) flushed(ctx context.Context) (count int, err error) {
	for {
		status, err := n.ep.GetStatus()
		if err != nil || status.RecvIdle {
			return count, err
		}
		event, err := n.recv.Wait(ctx)
		if err != nil {
			return count, err
		}
		if event.Status == udat.DTOErrFlushed {
			count++
		}
	}
}
