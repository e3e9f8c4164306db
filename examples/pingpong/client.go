package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/udat"
)

const connectTimeout = 15 * time.Second

// dial runs the client: it connects, exchanges messages, and disconnects.
func dial(ctx context.Context, s settings, host string) (err error) {
	n, err := newNode("client", s)
	defer func() { err = errors.Join(err, n.close()) }()
	if err != nil {
		return err
	}
	if err := n.postReceives(); err != nil {
		return err
	}
	address, err := adapter.Resolve(ctx, n.ia, host)
	if err != nil {
		return err
	}
	n.detail("connecting to %v, qualifier %d", address, s.qual)
	if err := n.ep.Connect(address, s.qual, connectTimeout, s.greeting()); err != nil {
		return err
	}
	n.status("connect")
	established, err := n.connect.Expect(ctx, udat.EventConnectionEstablished)
	if errors.Is(err, udat.EventConnectionNonPeerRejected) {
		return fmt.Errorf("nobody listens at %v, qualifier %d: start the server first (%w)", address, s.qual, err)
	}
	if err != nil {
		return err
	}
	n.status("established")
	remote, err := parseTriplet(established.PrivateData())
	if err != nil {
		return err
	}
	if err := n.ping(ctx, s); err != nil {
		return err
	}
	if err := n.writeAndRead(ctx, s, remote); err != nil {
		return err
	}
	if s.graceful {
		err = n.leaveGracefully(ctx, s)
	} else {
		err = n.leaveAbruptly(ctx, s)
	}
	if err != nil {
		return err
	}
	n.summary.print(n, s)
	return nil
}

// ping sends each message and waits for the answer.
func (n *node) ping(ctx context.Context, s settings) error {
	for m := range s.roundTrips() {
		start := time.Now()
		if err := n.send(m, 1); err != nil {
			return err
		}
		if m.number == 0 {
			n.status("send posted")
		}
		answer := message{number: m.number, size: m.size, from: fromServer}
		if err := n.receive(ctx, answer); err != nil {
			return err
		}
		n.summary.roundTrip(m.size, time.Since(start))
		if _, err := n.completion(ctx, n.request); err != nil {
			return err
		}
	}
	n.status("messages exchanged")
	return nil
}

// writeAndRead writes the server's memory, makes the server check it, and reads what the server has put there.
func (n *node) writeAndRead(ctx context.Context, s settings, remote udat.RMRTriplet) error {
	next := uint64(len(s.sizes) * s.count)
	local, err := n.exposed.Segment(0, exposedSize)
	if err != nil {
		return err
	}
	message{from: written}.write(n.exposed.Bytes())
	if err := n.ep.PostRDMAWrite([]udat.Segment{local}, 0, remote, 0); err != nil {
		return err
	}
	n.status("RDMA write posted")
	if _, err := n.completion(ctx, n.request); err != nil {
		return err
	}
	// The server checks the memory when it has this message, which comes after the write.
	if err := n.send(message{number: next, from: fromClient}, 1); err != nil {
		return err
	}
	if _, err := n.completion(ctx, n.request); err != nil {
		return err
	}
	if err := n.receive(ctx, message{number: next, from: fromServer}); err != nil {
		return err
	}
	clear(n.exposed.Bytes())
	if err := n.ep.PostRDMARead([]udat.Segment{local}, 0, remote, 0); err != nil {
		return err
	}
	n.status("RDMA read posted")
	if _, err := n.completion(ctx, n.request); err != nil {
		return err
	}
	if err := (message{size: exposedSize, from: readBack}).check(n.exposed.Bytes()); err != nil {
		return fmt.Errorf("RDMA read: %w", err)
	}
	n.say("RDMA write and RDMA read of %d bytes verified", exposedSize)
	n.summary.count(exposedSize)
	return nil
}

// leaveGracefully disconnects while messages are in flight: all of them arrive.
func (n *node) leaveGracefully(ctx context.Context, s settings) error {
	if err := n.send(s.farewell(), n.farewell()); err != nil {
		return err
	}
	if err := n.ep.Disconnect(udat.CloseGraceful); err != nil {
		return err
	}
	n.status("graceful disconnect")
	for range n.farewell() {
		if _, err := n.completion(ctx, n.request); err != nil {
			return fmt.Errorf("graceful disconnect: %w", err)
		}
	}
	if _, err := n.connect.Expect(ctx, udat.EventConnectionDisconnected); err != nil {
		return err
	}
	n.status("disconnected")
	return nil
}

// leaveAbruptly disconnects while messages are in flight: after the first failure, all fail.
func (n *node) leaveAbruptly(ctx context.Context, s settings) error {
	if err := n.send(s.farewell(), n.farewell()); err != nil {
		return err
	}
	if err := n.ep.Disconnect(udat.CloseAbrupt); err != nil {
		return err
	}
	n.status("abrupt disconnect")
	if _, err := n.connect.Expect(ctx, udat.EventConnectionDisconnected); err != nil {
		return err
	}
	flushed := 0
	for range n.farewell() {
		event, err := n.request.Wait(ctx)
		if err != nil {
			return err
		}
		switch {
		case event.Status == udat.DTOErrFlushed:
			flushed++
		case event.Status != udat.DTOSuccess || flushed > 0:
			return fmt.Errorf("abrupt disconnect: a send ended with %v after %d were flushed", event.Status, flushed)
		}
	}
	n.detail("of %d sends in flight, %d were flushed", n.farewell(), flushed)
	n.status("disconnected")
	return nil
}
