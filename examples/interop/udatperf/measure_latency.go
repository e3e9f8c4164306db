package main

import (
	"context"
	"github.com/goudat/goudat/udat/mem"
	"time"
)

// latency makes the operations of a step one after the other. It records half the time until the answer, or the time
// until the completion.
func (c *client) latency(ctx context.Context, s step, post poster, r *result) error {
	half := s.halfRoundTrip(c.shape.wait)
	r.Timing = timingCompletion
	if half {
		r.Timing = timingHalfRoundTrip
	}
	samples := make([]time.Duration, 0, s.Count)
	for i := range s.total() {
		start := time.Now()
		if err := post(i); err != nil {
			return err
		}
		var err error
		if half {
			err = c.message(ctx, s, i)
		} else {
			err = c.data.reap(ctx, 0)
		}
		took := time.Since(start)
		if err != nil {
			return err
		}
		if half {
			took /= 2
		}
		if i >= s.Warmup {
			samples = append(samples, took)
		}
		if err := c.between(ctx, s, i); err != nil {
			return err
		}
	}
	r.Latency = latencyOf(samples)
	return c.data.reap(ctx, 0)
}

// between is the client's work that is not part of the time of operation i.
func (c *client) between(ctx context.Context, s step, i int) error {
	c.progress.at(i + 1)
	if err := c.oldValue(s, i); err != nil {
		return err
	}
	if s.Operation == opSend {
		if err := c.data.replenish(); err != nil {
			return err
		}
		return c.data.reapReady(ctx)
	}
	// The next RDMA write changes this write's memory.
	return c.data.reap(ctx, 0)
}

// pong is the server's part: it answers each message.
func (n *node) pong(ctx context.Context, s step, post poster) error {
	for i := range s.total() {
		if err := n.message(ctx, s, i); err != nil {
			return err
		}
		if s.Operation == opWrite {
			if err := n.data.reap(ctx, 0); err != nil {
				return err
			}
		}
		if err := post(i); err != nil {
			return err
		}
		if s.Operation == opWrite {
			continue
		}
		if err := n.data.replenish(); err != nil {
			return err
		}
		if err := n.data.reapReady(ctx); err != nil {
			return err
		}
	}
	return n.data.reap(ctx, 0)
}

// message waits for the peer's message i.
func (n *node) message(ctx context.Context, s step, i int) error {
	if s.Operation == opWrite {
		return n.written(ctx, s.Size, byte(i+1))
	}
	_, err := n.data.receive(ctx, 1)
	return err
}

// written spins until the last byte of an RDMA write is there, which no event reports. Meanwhile it takes the
// completion of this side's previous write, and notices the end of the connection.
func (n *node) written(ctx context.Context, size int, number byte) error {
	last, err := mem.PeerByteAt(n.memory, n.area+size-1)
	if err != nil {
		return err
	}
	for {
		// Take the completion soon: the next write needs it.
		for range 64 {
			if arrived, err := last.SpinUntil(number, 0); arrived || err != nil {
				return err
			}
			if err := n.data.reapReady(ctx); err != nil {
				return err
			}
		}
		if err := n.data.alive(ctx); err != nil {
			return err
		}
	}
}
