//go:build linux

package reliability

import (
	"context"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// outcome returns the next event of the connection, and the time until it came.
func (s *scene) outcome(e *udattest.Endpoint) udat.Event {
	s.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	event, err := e.Connect.Wait(ctx)
	if err != nil {
		s.Fatalf("no event of the connection came: %v", err)
	}
	s.saw("%v, after %v", event.Number, rounded(time.Since(start)))
	return event
}

// If a server process dies before or just after its answer, the client gets an event.
func TestServerProcessKilledInEstablishment(t *testing.T) {
	for _, test := range []struct{ stage, what string }{
		{stageRequested, "the server's process is killed before it answers a request"},
		{stageAccepted, "the server's process is killed just after it has accepted"},
	} {
		t.Run(test.stage, func(t *testing.T) {
			play(t, test.what, func(s *scene) {
				if s.near() {
					e := s.endpoint()
					s.do(e.EP.Connect(s.peerAddress(), udat.ConnQual(s.tell(0)), bound, nil))
					if event := s.outcome(e); event.Number == udat.EventConnectionEstablished {
						s.outcome(e)
					}
				} else {
					v := s.startListening(test.stage)
					v.expect("stopped")
					v.kill()
				}
				s.reconnect()
			})
		})
	}
}

// If a client process dies before it is accepted, the server can still answer its request.
func TestClientProcessKilledBeforeAccept(t *testing.T) {
	play(t, "the client's process is killed before it is accepted", func(s *scene) {
		if s.near() {
			listener := udattest.Listen(s.T, s.ia)
			s.tell(int(listener.ConnQual))
			cr := udattest.Expect(s.T, listener.Requests, udat.EventConnectionRequest).CR()
			s.meet("the request is here")
			s.meet("") // the client is dead
			e := s.endpoint()
			if err := cr.Accept(e.EP, nil); err != nil {
				s.saw("the accept fails: %v", err)
			} else if s.outcome(e).Number == udat.EventConnectionEstablished {
				s.outcome(e)
			}
		} else {
			v := s.startVictim(stageConnecting, s.peerService().String())
			s.meet("")
			v.kill()
			s.meet("")
		}
		s.reconnect()
	})
}

// If a process dies while it receives, the sender's operations and the connection end.
func TestProcessKilledInTransfer(t *testing.T) {
	play(t, "the receiver's process is killed, in the middle of sends", func(s *scene) {
		if s.near() {
			e := s.connectTo(s.peerService())
			result := s.send(e, untilFailure, s.inTheMiddle(func() { s.meet("now") }))
			s.saw("%s", result.of(untilFailure))
			s.outcome(e)
		} else {
			v := s.startListening(stageReceiving)
			s.meet("")
			v.kill()
		}
		s.reconnect()
	})
}

// A graceful disconnect waits for sends for which the peer has no receives. The peer's death ends it.
func TestProcessKilledInDisconnect(t *testing.T) {
	play(t, "the peer's process is killed during a graceful disconnect, with sends outstanding", func(s *scene) {
		if s.iwarp {
			return // outside of the scenario, nothing keeps a disconnect waiting
		}
		if s.near() {
			e := s.connectTo(s.peerService())
			for i := range window {
				s.do(e.PostSend([]udat.Segment{e.Segment(s.T, 0, 64)}, uint64(i), 0))
			}
			s.do(e.Disconnect(udat.CloseGraceful))
			s.meet("now")
			s.outcome(e)
			for i := range window {
				if event := udattest.Wait(s.T, e.Request); event.Cookie != uint64(i) || event.Err() == nil {
					s.Errorf("the completion of send %d is %v, cookie %d", i, event.Err(), event.Cookie)
				}
			}
		} else {
			v := s.startListening(stageEstablished)
			v.expect("stopped")
			s.meet("")
			v.kill()
		}
		s.reconnect()
	})
}
