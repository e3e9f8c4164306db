//go:build linux

package reliability

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Sends wait for a receiver that posts no receives. The sender's own bound ends the wait. A receive that is posted in
// time is as good as one that was posted before.
func TestReceiverPostsNothing(t *testing.T) {
	play(t, "the receiver posts no receives", func(s *scene) {
		e := s.connect()
		if s.iwarp {
			s.withoutReceive(e)
			return
		}
		if !s.near() {
			s.meet("the sender waits")
			s.do(e.PostRecv([]udat.Segment{e.Segment(s.T, 0, 64)}, 1, 0))
			s.succeeded(udattest.Wait(s.T, e.Recv))
			s.meet("")
			s.reconnect()
			return
		}
		const sends = 4
		for i := range sends {
			s.do(e.PostSend([]udat.Segment{e.Segment(s.T, 0, 64)}, uint64(i), 0))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := e.Request.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			s.Errorf("a send without a receive: %v", err)
		}
		s.meet("")
		s.succeeded(udattest.Wait(s.T, e.Request))
		s.meet("")
		s.do(e.Disconnect(udat.CloseAbrupt))
		for range sends - 1 {
			if event := udattest.Wait(s.T, e.Request); event.Status != udat.DTOErrFlushed {
				s.Errorf("a send without a receive ends with %v", event.Status)
			}
		}
		s.saw("the send that found a receive succeeded, the others were flushed by the disconnect")
		s.reconnect()
	})
}

// withoutReceive is the case of iWARP: a send without a receive ends the connection. It has succeeded by then, or fails if
// the end comes while the adapter still sends.
func (s *scene) withoutReceive(e *udattest.Endpoint) {
	s.Helper()
	s.meet("both are connected") // a message that soft-iWARP takes before that may be lost without an end
	if s.near() {
		s.do(e.PostSend([]udat.Segment{e.Segment(s.T, 0, 64)}, 1, 0))
		udattest.Expect(s.T, e.Request, udat.EventDTOCompletion)
	}
	s.outcome(e)
	s.reconnect()
}
