package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// serve runs the server for the measurements of one client. It calls ready with the adapter's address when it listens.
func serve(ctx context.Context, s settings, ready func(address string)) (err error) {
	n, err := openNode(s.adapter)
	defer func() { err = errors.Join(err, n.close()) }()
	if err != nil {
		return err
	}
	calls, err := udat.CreateEVD(n.ia, 8, nil, udat.EVDCR)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, calls.Free()) }()
	psp, err := udat.CreatePSP(n.ia, s.qual, calls)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, psp.Free()) }()
	attr, _, err := n.ia.Query()
	if err != nil {
		return err
	}
	ready(attr.Address.String())

	first, call, err := nextCall(ctx, calls, func(g greeting) bool { return !g.data })
	if err != nil {
		return err
	}
	return within(ctx, s.timeout, func(ctx context.Context) error {
		if err := n.equip(first.shape); err != nil {
			return errors.Join(err, call.Reject(nil))
		}
		if err := accept(ctx, call, n.control.link); err != nil {
			return err
		}
		_, call, err := nextCall(ctx, calls, func(g greeting) bool { return g.data && g.session == first.session })
		if err != nil {
			return err
		}
		if err := accept(ctx, call, n.data); err != nil {
			return err
		}
		return n.obey(ctx)
	})
}

// nextCall returns the next connection request with the expected greeting, and rejects all others.
func nextCall(ctx context.Context, calls *udat.EVD, wanted func(greeting) bool) (greeting, *udat.CR, error) {
	for {
		event, err := calls.Wait(ctx)
		if err != nil {
			return greeting{}, nil, err
		}
		param, err := event.CR().Query()
		if err != nil {
			return greeting{}, nil, err
		}
		g, err := parseGreeting(param.PrivateData)
		if err == nil && wanted(g) {
			return g, event.CR(), nil
		}
		if err := event.CR().Reject(nil); err != nil {
			return greeting{}, nil, err
		}
	}
}

func accept(ctx context.Context, call *udat.CR, l *link) error {
	if err := call.Accept(l.ep, nil); err != nil {
		return err
	}
	return l.established(ctx)
}

// obey executes the client's orders until the client leaves.
func (n *node) obey(ctx context.Context) error {
	target, err := packTriplet(n.memory, n.area, n.area)
	if err != nil {
		return err
	}
	source, err := packTriplet(n.memory, 0, n.area)
	if err != nil {
		return err
	}
	var current step
	for {
		var o order
		if err := n.control.receive(ctx, &o); err != nil {
			return err
		}
		switch {
		case o.Begin != nil:
			current = *o.Begin
			if err := current.check(n.area); err != nil {
				return err
			}
			if err := n.prepare(current); err != nil {
				return err
			}
			if err := n.control.send(ctx, answer{Target: target, Source: source}); err != nil {
				return err
			}
			if err := n.takePart(ctx, current, o.Target); err != nil {
				return fmt.Errorf("%v: %w", current, err)
			}
		case o.Verify:
			var a answer
			if err := n.arrived(current, true); err != nil {
				a.Error = err.Error()
			}
			if err := n.control.send(ctx, a); err != nil {
				return err
			}
		case o.End:
			if err := n.control.send(ctx, answer{}); err != nil {
				return err
			}
			return n.left(ctx)
		default:
			return errors.New("the client's order is empty")
		}
	}
}

// left waits until the client leaves.
func (n *node) left(ctx context.Context) error {
	for _, l := range []*link{n.data, n.control.link} {
		if _, err := l.connect.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepare prepares this side's memory and receives for a step of the peer.
func (n *node) prepare(s step) error {
	n.lay(s, true)
	if s.Operation != opSend {
		return nil
	}
	segment, err := n.targetSegment(s.Size)
	if err != nil {
		return err
	}
	return n.data.expect(segment, s.total())
}

// takePart does the server's work for a step: it answers or receives. Other operations need nothing from the server.
func (n *node) takePart(ctx context.Context, s step, target []byte) error {
	answers := s.halfRoundTrip(n.shape.wait)
	if !answers && s.Operation != opSend {
		return nil
	}
	peer, err := unpackTriplet(target)
	if err != nil {
		return err
	}
	if !answers {
		return n.sink(ctx, s, peer)
	}
	post, err := n.poster(s, peer)
	if err != nil {
		return err
	}
	return n.pong(ctx, s, post)
}
