package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// control exchanges messages about the measurements, on a connection of its own: one JSON message after the other, in
// turns.
type control struct {
	*link
	memory *udat.LMR // the incoming message, then the outgoing one
}

const controlSize = 4096 // bytes of a message

// order is a request of the client.
type order struct {
	Begin  *step  `json:",omitempty"` // prepare, and take part
	Verify bool   `json:",omitempty"` // check what has arrived
	End    bool   `json:",omitempty"` // the client is about to disconnect
	Target []byte `json:",omitempty"` // the client's memory, an RMRTriplet, with Begin
}

// answer is the server's answer.
type answer struct {
	Error  string `json:",omitempty"` // what is wrong with the contents
	Target []byte `json:",omitempty"` // the server's memory to write, an RMRTriplet
	Source []byte `json:",omitempty"` // the server's memory to read
}

func newControl(ia *udat.IA, pz *udat.PZ) (*control, error) {
	c := &control{}
	var err error
	if c.link, err = newLink(ia, pz, 1, 1, true); err != nil {
		return c, err
	}
	if c.memory, err = udat.AllocMemory(pz, 2*controlSize, udat.MemPrivLocalRead|udat.MemPrivLocalWrite); err != nil {
		return c, err
	}
	return c, c.postReceive()
}

func (c *control) postReceive() error {
	segment, err := c.memory.Segment(0, controlSize)
	if err != nil {
		return err
	}
	return c.ep.PostRecv([]udat.Segment{segment}, 0, 0)
}

func (c *control) send(ctx context.Context, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(text) > controlSize {
		return fmt.Errorf("a message of %d bytes", len(text))
	}
	copy(c.memory.Bytes()[controlSize:], text)
	segment, err := c.memory.Segment(controlSize, len(text))
	if err != nil {
		return err
	}
	if err := c.ep.PostSend([]udat.Segment{segment}, c.posted, 0); err != nil {
		return err
	}
	c.posted++
	return c.reap(ctx, 0)
}

func (c *control) receive(ctx context.Context, message any) error {
	if _, err := c.take(ctx, c.recv, c.events[:1]); err != nil {
		return err
	}
	text := append([]byte(nil), c.memory.Bytes()[:c.events[0].Length]...)
	if err := c.postReceive(); err != nil {
		return err
	}
	return json.Unmarshal(text, message)
}

// ask sends an order and returns the answer.
func (c *control) ask(ctx context.Context, o order) (answer, error) {
	var a answer
	if err := c.send(ctx, o); err != nil {
		return a, err
	}
	return a, c.receive(ctx, &a)
}

func packTriplet(lmr *udat.LMR, offset, length int) ([]byte, error) {
	triplet, err := lmr.RMRTriplet(offset, length)
	if err != nil {
		return nil, err
	}
	return triplet.AppendBinary(nil)
}

func unpackTriplet(b []byte) (udat.RMRTriplet, error) {
	var t udat.RMRTriplet
	return t, t.UnmarshalBinary(b)
}
