package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/udat"
)

const connectTimeout = 15 * time.Second

// client is a node that is connected to a server.
type client struct {
	*node
	adapter  string
	progress *progress
}

// dial connects to a server. The caller closes the client, also when dial fails.
func dial(ctx context.Context, s settings, host string, p *progress) (*client, error) {
	n, err := openNode(s.adapter)
	c := &client{node: n, adapter: s.adapter, progress: p}
	if err != nil {
		return c, err
	}
	address, err := adapter.Resolve(ctx, n.ia, host)
	if err != nil {
		return c, err
	}
	g := greeting{session: rand.Uint64(), shape: s.shape()}
	if err := n.equip(g.shape); err != nil {
		return c, err
	}
	for _, l := range []*link{n.control.link, n.data} {
		if err := l.ep.Connect(address, s.qual, connectTimeout, g.bytes()); err != nil {
			return c, err
		}
		if err := l.established(ctx); err != nil {
			return c, err
		}
		g.data = true
	}
	return c, nil
}

// leave disconnects gracefully. If it fails, close ends the connections.
func (c *client) leave(ctx context.Context) error {
	if _, err := c.control.ask(ctx, order{End: true}); err != nil {
		return err
	}
	for _, l := range []*link{c.data, c.control.link} {
		if err := l.ep.Disconnect(udat.CloseGraceful); err != nil {
			return err
		}
		if _, err := l.connect.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// measureAll makes all measurements of the client, and reports each result as soon as it has it.
func measureAll(ctx context.Context, s settings, host string, p *progress, report func(result) error) (err error) {
	c, err := dial(ctx, s, host, p)
	defer func() { err = errors.Join(err, c.close()) }()
	if err != nil {
		return err
	}
	if len(s.operations) == 0 {
		s.operations = c.operations()
	}
	steps := s.steps()
	for i, step := range steps {
		p.begin(fmt.Sprintf("%s: %v (%d of %d)", s.adapter, step, i+1, len(steps)), step.total())
		r, err := c.run(ctx, step, nil)
		if err != nil {
			return err
		}
		if err := report(r); err != nil {
			return err
		}
	}
	return c.leave(ctx)
}

// poster posts operation number i of a step.
type poster func(i int) error

// run makes one measurement. A nil post means the step's own poster.
func (c *client) run(ctx context.Context, s step, post poster) (result, error) {
	r := result{Adapter: c.adapter, Operation: s.Operation, Measure: s.Measure, Bytes: s.Size, Iterations: s.Count, Polling: !c.shape.wait}
	c.lay(s, false)
	mine, err := packTriplet(c.memory, c.area, c.area)
	if err != nil {
		return r, err
	}
	if s.Operation == opSend && s.Measure == measureLatency {
		segment, err := c.targetSegment(s.Size)
		if err != nil {
			return r, err
		}
		if err := c.data.expect(segment, s.total()); err != nil {
			return r, err
		}
	}
	a, err := c.control.ask(ctx, order{Begin: &s, Target: mine})
	if err != nil {
		return r, err
	}
	place := a.Target
	if s.Operation == opRead {
		place = a.Source
	}
	remote, err := unpackTriplet(place)
	if err != nil {
		return r, err
	}
	if post == nil {
		if post, err = c.poster(s, remote); err != nil {
			return r, err
		}
	}
	if c.counts(s) {
		if post, err = c.withinReceives(ctx, post); err != nil {
			return r, err
		}
	}
	if s.Measure == measureLatency {
		err = c.latency(ctx, s, post, &r)
	} else {
		err = c.bandwidth(ctx, s, post, &r)
	}
	if err != nil {
		return r, fmt.Errorf("%v: %w", s, err)
	}
	if c.iwarp && s.Operation == opWrite && !s.halfRoundTrip(c.shape.wait) {
		if err := c.flush(ctx, remote); err != nil {
			return r, err
		}
	}
	// The server has finished its part when it takes this order.
	verdict, err := c.control.ask(ctx, order{Verify: true})
	if err != nil {
		return r, err
	}
	if verdict.Error != "" {
		return r, fmt.Errorf("at the server: %s", verdict.Error)
	}
	return r, c.arrived(s, false)
}
