//go:build linux

package reliability

import (
	"context"
	"errors"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Over iWARP a message without a receive ends the connection, and a send succeeds when it was handed to the connection.
// So the receiver of a stream sends credit: an empty message for each creditFor messages whose receives it has posted
// again. Only messages with credit are known to have arrived.
const creditFor = posted / 4

var errNoCredit = errors.New("the receiver sends no more credit")

// credit is the sender's credit. A nil credit is unlimited.
type credit struct {
	s       *scene
	e       *udattest.Endpoint
	granted int
}

// startCredit is called before the first message.
func (s *scene) startCredit(e *udattest.Endpoint) *credit {
	s.Helper()
	if !s.iwarp {
		return nil
	}
	c := &credit{s: s, e: e, granted: posted}
	for range posted / creditFor {
		s.do(e.PostRecv(nil, 0, 0))
	}
	return c
}

// covers reports whether the message with the number may be sent.
func (c *credit) covers(number int) bool {
	if c == nil {
		return true
	}
	for {
		event, err := c.e.Recv.Dequeue()
		if err != nil || !c.take(event) {
			return number < c.granted
		}
	}
}

func (c *credit) take(event udat.Event) bool {
	if event.Err() != nil {
		return false
	}
	c.granted += creditFor
	return c.e.PostRecv(nil, 0, 0) == nil
}

// await waits for more credit, as long as the program waits for a completion.
func (c *credit) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), c.s.patience)
	defer cancel()
	event, err := c.e.Recv.Wait(ctx)
	if err != nil {
		return errNoCredit
	}
	if !c.take(event) {
		return event.Err()
	}
	return nil
}

// arrived returns how many messages of a stream are known to have arrived.
func (c *credit) arrived(result sent) int {
	if c == nil || result.failure == nil {
		return result.acknowledged
	}
	return c.granted - posted
}

// give sends credit to the sender.
func (r *receiver) give() {
	if received := r.received.Load(); r.s.iwarp && received%creditFor == 0 {
		_ = r.e.PostSend(nil, uint64(received), udat.CompletionSuppress) // unless the connection has ended
	}
}
