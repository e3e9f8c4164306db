package udat_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// sender posts numbered sends on one end of a connection, and keeps account of
// what comes back; the other end keeps what has arrived.
type sender struct {
	*udattest.Endpoint
	peer     *udattest.Endpoint
	posted   map[uint64]udat.CompletionFlags
	arrived  []uint64
	complete map[uint64]udat.DTOStatus
}

func newSender(from, to *udattest.Endpoint) *sender {
	return &sender{Endpoint: from, peer: to, posted: make(map[uint64]udat.CompletionFlags), complete: make(map[uint64]udat.DTOStatus)}
}

const messageSize = 8

// send posts a send of its own number.
func (s *sender) send(t *testing.T, flags udat.CompletionFlags) {
	t.Helper()
	number := uint64(len(s.posted)) + 1
	offset := int(number) * messageSize
	binary.NativeEndian.PutUint64(s.Memory.Bytes()[offset:], number)
	want(t, s.PostSend(one(s.Segment(t, offset, messageSize)), number, flags))
	s.posted[number] = flags
}

// receive posts receives, as many as flags, for sends that it posts with those, and
// waits until all have arrived.
func (s *sender) deliver(t *testing.T, flags ...udat.CompletionFlags) {
	t.Helper()
	for i := range flags {
		want(t, s.peer.PostRecv(one(s.peer.Segment(t, i*messageSize, messageSize)), uint64(i), 0))
	}
	for _, f := range flags {
		s.send(t, f)
	}
	for i := range flags {
		want(t, udattest.Completion(t, s.peer.Recv, uint64(i)).Err())
		s.arrived = append(s.arrived, binary.NativeEndian.Uint64(s.peer.Memory.Bytes()[i*messageSize:]))
	}
}

// answer has the peer send messages back, one after the other: what had arrived
// before is acknowledged by then.
func (s *sender) answer(t *testing.T) {
	t.Helper()
	for i := range uint64(8) {
		want(t, s.PostRecv(one(s.Segment(t, 0, messageSize)), i, 0))
		want(t, s.peer.PostSend(one(s.peer.Segment(t, 0, messageSize)), i, 0))
		want(t, udattest.Completion(t, s.Recv, i).Err())
		want(t, udattest.Completion(t, s.peer.Request, i).Err())
	}
}

// take takes the completions that are there, each of which must be of a send, and
// the only one.
func (s *sender) take(t *testing.T) {
	t.Helper()
	for {
		event, err := s.Request.Dequeue()
		if err != nil {
			want(t, err, udat.ErrQueueEmpty)
			return
		}
		flags, posted := s.posted[event.Cookie]
		switch before, twice := s.complete[event.Cookie]; {
		case !posted || event.Number != udat.EventDTOCompletion || event.Operation != udat.DTOSend:
			t.Errorf("nobody has posted what completes with %+v", event)
		case twice:
			t.Errorf("the send %d completes with %v, and then with %v", event.Cookie, before, event.Status)
		case flags&udat.CompletionSuppress != 0 && event.Err() == nil:
			t.Errorf("the suppressed send %d succeeds with an event", event.Cookie)
		case event.Err() != nil && slices.Contains(s.arrived, event.Cookie):
			t.Errorf("the send %d fails with %v, and has arrived", event.Cookie, event.Err())
		}
		s.complete[event.Cookie] = event.Status
	}
}

// account compares what has completed with what was posted and has arrived.
func (s *sender) account(t *testing.T) {
	t.Helper()
	for number, flags := range s.posted {
		_, completed := s.complete[number]
		arrived := slices.Contains(s.arrived, number)
		if must := flags&udat.CompletionSuppress == 0 || !arrived; must != completed {
			t.Errorf("the send %d with the flags %v: it has arrived: %v; it has a completion: %v", number, flags, arrived, completed)
		}
	}
}

// ends are the ways in which the connection of a sender ends.
var ends = map[string]func(*testing.T, *sender){
	"abrupt":        func(t *testing.T, s *sender) { want(t, s.Disconnect(udat.CloseAbrupt)) },
	"peer abrupt":   func(t *testing.T, s *sender) { want(t, s.peer.Disconnect(udat.CloseAbrupt)) },
	"peer graceful": func(t *testing.T, s *sender) { want(t, s.peer.Disconnect(udat.CloseGraceful)) },
	"peer freed":    func(t *testing.T, s *sender) { want(t, s.peer.EP.Free()) },
	"graceful, then peer abrupt": func(t *testing.T, s *sender) {
		want(t, s.Disconnect(udat.CloseGraceful))
		want(t, s.peer.Disconnect(udat.CloseAbrupt))
	},
	"graceful, then abrupt": func(t *testing.T, s *sender) {
		want(t, s.Disconnect(udat.CloseGraceful))
		want(t, s.Disconnect(udat.CloseAbrupt))
	},
	"both abrupt": func(t *testing.T, s *sender) {
		done := make(chan error)
		go func() { done <- s.peer.Disconnect(udat.CloseAbrupt) }()
		want(t, s.Disconnect(udat.CloseAbrupt))
		want(t, receive(t, done))
	},
}

const (
	signalled  = udat.CompletionDefault
	suppressed = udat.CompletionSuppress
)

// depth is the length of the queues, of which a quarter may be suppressed in a row
// without a word to the binding.
const depth = 64

// sends are what is delivered before the connection ends, and what is not.
var sends = map[string]struct{ delivered, stuck []udat.CompletionFlags }{
	"one suppressed":           {delivered: slices.Repeat([]udat.CompletionFlags{suppressed}, 1)},
	"three suppressed":         {delivered: slices.Repeat([]udat.CompletionFlags{suppressed}, 3)},
	"fifty suppressed":         {delivered: slices.Repeat([]udat.CompletionFlags{suppressed}, 50)},
	"one behind a signalled":   {delivered: []udat.CompletionFlags{signalled, suppressed}},
	"one before a signalled":   {delivered: []udat.CompletionFlags{suppressed, signalled}},
	"suppressed stuck":         {stuck: slices.Repeat([]udat.CompletionFlags{suppressed}, 7)},
	"suppressed, one stuck":    {slices.Repeat([]udat.CompletionFlags{suppressed}, 9), []udat.CompletionFlags{suppressed}},
	"suppressed, more stuck":   {slices.Repeat([]udat.CompletionFlags{suppressed}, 9), slices.Repeat([]udat.CompletionFlags{suppressed}, 40)},
	"suppressed, others stuck": {slices.Repeat([]udat.CompletionFlags{suppressed}, 2), slices.Repeat([]udat.CompletionFlags{signalled}, 2)},
	"a mixture": {
		[]udat.CompletionFlags{suppressed, signalled, suppressed, suppressed},
		[]udat.CompletionFlags{suppressed, signalled, suppressed, suppressed, signalled, suppressed},
	},
}

// However a connection ends: each send completes once, but no suppressed one that
// has arrived. With the event of the end all completions are there, and when they
// are taken the endpoint is idle and the memory free. Nothing comes after that,
// not by a reset either.
func TestCompletionsAtTheEnd(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for name, posts := range sends {
			for endName, end := range ends {
				t.Run(fmt.Sprintf("%s, %s", name, endName), func(t *testing.T) {
					attr := udattest.DefaultAttr(t, ia)
					attr.MaxRequestDTOs, attr.MaxRecvDTOs = depth, depth
					active, passive := udattest.Pair(t, ia, &attr)
					s := newSender(active, passive)
					s.deliver(t, posts.delivered...)
					s.answer(t)
					for _, flags := range posts.stuck {
						s.send(t, flags)
					}
					end(t, s)
					udattest.Expect(t, s.Connect, udat.EventConnectionDisconnected)
					s.take(t)
					s.account(t)
					if st := status(t, s.EP); !st.RequestIdle {
						t.Errorf("when all completions are taken the status is %+v", st)
					}
					want(t, s.Memory.Free())
					want(t, s.Reset())
					s.take(t)
					s.account(t)
					if st := status(t, s.EP); !st.RequestIdle || !st.RecvIdle {
						t.Errorf("after the reset the status is %+v", st)
					}
				})
			}
		}
	})
}
