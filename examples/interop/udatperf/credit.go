package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

// Over iWARP a message that comes before its receive ends the connection, and the completion of a send only means that
// it was handed over. So the server of a stream of sends counts, in the first byte of the client's target, the windows
// of messages that it has taken and posted receives for again.

// windowsAhead is how many windows of messages the server posts receives for at first.
const windowsAhead = 2

// counts reports whether the server of a step counts for the client.
func (n *node) counts(s step) bool {
	return n.iwarp && s.Operation == opSend && s.Measure == measureBandwidth
}

// withinReceives returns a poster that waits until the server has a receive for the
// message. A step begins with a count of 0.
func (c *client) withinReceives(ctx context.Context, post poster) (poster, error) {
	count, err := mem.PeerByteAt(c.memory, c.area)
	if err != nil {
		return nil, err
	}
	taken := 0 // windows
	return func(i int) error {
		for i >= (windowsAhead+taken)*c.shape.window {
			more := count.Load() - byte(taken)
			taken += int(more)
			if more > 0 {
				continue
			}
			if err := c.data.alive(ctx); err != nil {
				return err
			}
			if c.shape.wait {
				time.Sleep(10 * time.Microsecond)
			} else {
				runtime.Gosched()
			}
		}
		return post(i)
	}, nil
}

// counter writes the count to the client's memory.
type counter struct {
	n      *node
	source []udat.Segment
	remote udat.RMRTriplet
	taken  int // windows
}

func newCounter(n *node, remote udat.RMRTriplet) (*counter, error) {
	source, err := n.sourceSegment(1)
	remote.SegmentLength = 1
	return &counter{n: n, source: []udat.Segment{source}, remote: remote}, err
}

// count tells the client how many messages the server has taken, once for each whole window.
func (c *counter) count(ctx context.Context, messages int) error {
	taken := messages / c.n.shape.window
	if taken == c.taken {
		return nil
	}
	c.taken = taken
	l := c.n.data
	if err := l.reap(ctx, 0); err != nil { // the last count, which is in the same place
		return err
	}
	c.n.source(1)[0] = byte(taken)
	if err := l.ep.PostRDMAWrite(c.source, l.posted, c.remote, 0); err != nil {
		return err
	}
	l.posted++
	return nil
}

// flush waits until the RDMA writes that were posted before are in the server's memory. Over iWARP their completions do
// not show that, but the completion of a read does.
func (c *client) flush(ctx context.Context, remote udat.RMRTriplet) error {
	into, err := c.targetSegment(1)
	if err != nil {
		return err
	}
	remote.SegmentLength = 1
	if err := c.data.ep.PostRDMARead([]udat.Segment{into}, c.data.posted, remote, 0); err != nil {
		return err
	}
	c.data.posted++
	return c.data.reap(ctx, 0)
}

// alive fails when the run is over, or the connection has ended.
func (l *link) alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch event, err := l.connect.Dequeue(); {
	case err == nil:
		return fmt.Errorf("the connection ended with %v", event.Number)
	case !errors.Is(err, udat.ErrQueueEmpty):
		return err
	}
	return nil
}
