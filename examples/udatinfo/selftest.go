package main

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/goudat/goudat/udat"
)

// selfTestPatience bounds a self-test, which takes milliseconds.
const selfTestPatience = 10 * time.Second

// selfTest connects two endpoints of an adapter, and sends a message from the first to the second and back. What it
// makes is freed with the adapter.
func selfTest(ia *udat.IA, address netip.Addr) error {
	ctx, cancel := context.WithTimeout(context.Background(), selfTestPatience)
	defer cancel()
	const length = 1024
	pz, err := udat.CreatePZ(ia)
	if err != nil {
		return err
	}
	// What is sent, where it arrives, and where it comes back to.
	memory, err := udat.AllocMemory(pz, 3*length, udat.MemPrivLocalRead|udat.MemPrivLocalWrite)
	if err != nil {
		return err
	}
	connections, err := udat.CreateEVD(ia, 8, nil, udat.EVDConnection|udat.EVDCR)
	if err != nil {
		return err
	}
	client, err := newEnd(ia, pz, memory, connections, 2*length, length)
	if err != nil {
		return err
	}
	server, err := newEnd(ia, pz, memory, connections, length, length)
	if err != nil {
		return err
	}
	if err := connect(ctx, ia, address, connections, client.EP, server.EP); err != nil {
		return err
	}
	copy(memory.Bytes()[:length], bytes.Repeat([]byte("udatinfo"), length/8))
	if err := client.send(ctx, memory, 0, length, server); err != nil { // first: iWARP demands it
		return err
	}
	if err := server.send(ctx, memory, length, length, client); err != nil {
		return err
	}
	if !bytes.Equal(memory.Bytes()[:length], memory.Bytes()[2*length:3*length]) {
		return errors.New("the message came back changed")
	}
	return nil
}

// end is one of the two sides.
type end struct {
	*udat.EP
	sent, received *udat.EVD
}

// newEnd makes an endpoint that waits for one message, which is to arrive at offset in the memory.
func newEnd(ia *udat.IA, pz *udat.PZ, memory *udat.LMR, connections *udat.EVD, offset, length int) (*end, error) {
	sent, err := udat.CreateEVD(ia, 8, nil, udat.EVDDTO)
	if err != nil {
		return nil, err
	}
	received, err := udat.CreateEVD(ia, 8, nil, udat.EVDDTO)
	if err != nil {
		return nil, err
	}
	ep, err := udat.CreateEP(ia, pz, received, sent, connections, nil)
	if err != nil {
		return nil, err
	}
	segment, err := memory.Segment(offset, length)
	if err != nil {
		return nil, err
	}
	return &end{ep, sent, received}, ep.PostRecv([]udat.Segment{segment}, 0, 0)
}

// connect connects client with server. All events of the connection are on one EVD.
func connect(ctx context.Context, ia *udat.IA, address netip.Addr, connections *udat.EVD, client, server *udat.EP) error {
	psp, err := udat.CreatePSPAny(ia, connections)
	if err != nil {
		return err
	}
	listening, err := psp.Query()
	if err != nil {
		return err
	}
	if err := client.Connect(address, listening.ConnQual, selfTestPatience, nil); err != nil {
		return err
	}
	request, err := connections.Expect(ctx, udat.EventConnectionRequest)
	if err != nil {
		return err
	}
	if err := request.CR().Accept(server, nil); err != nil {
		return err
	}
	for range 2 { // one for each side
		if _, err := connections.Expect(ctx, udat.EventConnectionEstablished); err != nil {
			return err
		}
	}
	return nil
}

// send sends a message at offset in the memory to another end, and waits until it has arrived.
func (e *end) send(ctx context.Context, memory *udat.LMR, offset, length int, to *end) error {
	segment, err := memory.Segment(offset, length)
	if err != nil {
		return err
	}
	if err := e.PostSend([]udat.Segment{segment}, 0, 0); err != nil {
		return err
	}
	if _, err := e.sent.Expect(ctx, udat.EventDTOCompletion); err != nil {
		return err
	}
	_, err = to.received.Expect(ctx, udat.EventDTOCompletion)
	return err
}
