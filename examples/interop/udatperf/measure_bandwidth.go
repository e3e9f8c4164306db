package main

import (
	"context"
	"time"

	"github.com/goudat/goudat/udat"
)

// bandwidth keeps a window of operations outstanding and records the times of posting and completion.
func (c *client) bandwidth(ctx context.Context, s step, post poster, r *result) error {
	take := func(most int) (int, error) {
		first := int(c.data.completed)
		n, err := c.data.take(ctx, c.data.request, c.data.events[:min(most, batch)])
		if err == nil {
			err = c.data.done(c.data.events[:n])
		}
		return int(c.data.completed) - first, err
	}
	check := func(i int) error {
		c.progress.at(i + 1)
		return c.oldValue(s, i)
	}
	if _, err := stream(0, s.Warmup, c.shape.window, post, take, check); err != nil {
		return err
	}
	times, err := stream(s.Warmup, s.Count, c.shape.window, post, take, check)
	if err != nil {
		return err
	}
	r.Window = times.window
	r.Bandwidth = bandwidthOf(times, s.Size)
	return nil
}

// times has when each operation was posted and when its completion was seen, since the first post.
type times struct {
	posted    []time.Duration
	completed []time.Duration
	window    int // most operations that were outstanding
}

// stream makes count operations, starting with the given number, with at most window of them outstanding. take waits
// for completions and returns how many there were. stream calls check for each of these operations before it posts
// another one.
func stream(first, count, window int, post poster, take func(most int) (int, error), check func(i int) error) (times, error) {
	t := times{posted: make([]time.Duration, 0, count), completed: make([]time.Duration, 0, count)}
	start := time.Now()
	for len(t.completed) < count {
		for len(t.posted) < count && len(t.posted)-len(t.completed) < window {
			t.posted = append(t.posted, time.Since(start))
			if err := post(first + len(t.posted) - 1); err != nil {
				return t, err
			}
		}
		outstanding := len(t.posted) - len(t.completed)
		t.window = max(t.window, outstanding)
		n, err := take(outstanding)
		if err != nil {
			return t, err
		}
		now := time.Since(start)
		for range n {
			t.completed = append(t.completed, now)
			if err := check(first + len(t.completed) - 1); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// sink is the server's part for sends: it receives them.
func (n *node) sink(ctx context.Context, s step, client udat.RMRTriplet) error {
	c, err := newCounter(n, client)
	if err != nil {
		return err
	}
	for left := s.total(); left > 0; {
		taken, err := n.data.receive(ctx, left)
		if err != nil {
			return err
		}
		if err := n.data.replenish(); err != nil {
			return err
		}
		left -= taken
		if n.counts(s) {
			if err := c.count(ctx, s.total()-left); err != nil {
				return err
			}
		}
	}
	return n.data.reap(ctx, 0)
}
