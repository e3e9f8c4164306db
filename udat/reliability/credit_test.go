//go:build linux

package reliability

import (
	"context"
	"errors"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Over iWARP a message that finds no receive ends the connection, and a send succeeds
// when it was handed to that. So the receiver of a stream gives credit, by a message
// without content, for each creditFor messages whose receives it has posted again,
// and only what it has given credit for is known to have arrived.
const creditFor = posted / 4

var errNoCredit = errors.New("the receiver gives no more credit")

// credit is the sender's. A nil one is without end.
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

// await waits for more, as long as the program waits for a completion.
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

// arrived is how many of the messages are known to have arrived, of a stream that
// ended so.
func (c *credit) arrived(result sent) int {
	if c == nil || result.failure == nil {
		return result.acknowledged
	}
	return c.granted - posted
}

// give is the receiver's part.
func (r *receiver) give() {
	if received := r.received.Load(); r.s.iwarp && received%creditFor == 0 {
		_ = r.e.PostSend(nil, uint64(received), udat.CompletionSuppress) // unless the connection has ended
	}
}
