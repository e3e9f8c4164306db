package udat_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// sender posts numbered sends on one end of a connection, and keeps account of
// what comes back; the other end keeps what has arrived.
type sender struct {
	*udattest.Endpoint
	peer     *udattest.Endpoint
	held     *held
	posted   map[uint64]udat.CompletionFlags
	arrived  []uint64
	complete map[uint64]udat.DTOStatus
}

func newSender(from, to *udattest.Endpoint) *sender {
	return &sender{Endpoint: from, peer: to, held: &held{restore: func() {}}, posted: make(map[uint64]udat.CompletionFlags), complete: make(map[uint64]udat.DTOStatus)}
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

// hold posts requests with the flags that are stuck.
func (s *sender) hold(t *testing.T, flags ...udat.CompletionFlags) {
	t.Helper()
	s.held = hold(t, s.Endpoint, s.peer)
	for _, f := range flags {
		number := uint64(len(s.posted)) + 1
		s.held.one(number, f)
		s.posted[number] = f
	}
}

// deliver posts a send with each of the flags, and receives for them, and waits
// until all have arrived.
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
		case !posted || event.Number != udat.EventDTOCompletion || event.Operation != udat.DTOSend && event.Operation != s.held.operation:
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

// depth is the length of the queues. A quarter of it may be suppressed in a row without a
// report to the binding.
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
		within := udattest.Patience // the machine may be busy
		if udattest.IWARP(t, ia) {
			within = time.Second // what was posted last is waited for in vain
		}
		defer udat.SetSettleWithin(within)()
		for name, posts := range sends {
			for endName, end := range ends {
				t.Run(fmt.Sprintf("%s, %s", name, endName), func(t *testing.T) {
					attr := udattest.DefaultAttr(t, ia)
					attr.MaxRequestDTOs, attr.MaxRecvDTOs = depth, depth
					active, passive := udattest.Pair(t, ia, &attr)
					s := newSender(active, passive)
					s.deliver(t, posts.delivered...)
					s.answer(t)
					if len(posts.stuck) > 0 {
						s.hold(t, posts.stuck...)
					}
					end(t, s)
					s.held.restore()
					if n := udattest.Wait(t, s.Connect).Number; n != udat.EventConnectionDisconnected && !(udattest.IWARP(t, ia) && n == udat.EventConnectionBroken) {
						t.Fatalf("the connection ended with %v", n)
					}
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

// await waits until done reports true.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for ctx := udattest.Context(t); !done(); runtime.Gosched() {
		if ctx.Err() != nil {
			t.Fatal(what)
		}
	}
}

// awaitQueued waits until the binding has taken n events of the EVD from the library.
func awaitQueued(t *testing.T, evd *udat.EVD, n int) {
	t.Helper()
	await(t, "the events", func() bool { udat.Reap(evd); return udat.Queued(evd) >= n })
}

// While a connection is there, too, suppressed sends that have arrived keep neither
// the endpoint from being idle nor their memory, and those that have not do. What
// the binding does to find out is not to be seen.
func TestSuppressedAreDone(t *testing.T) {
	defer udat.SetSettleWithin(2 * time.Second)() // the machine may be busy
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRequestDTOs = depth
		active, passive := udattest.Pair(t, ia, &attr)
		s := newSender(active, passive)
		isIdle := func() bool { return status(t, s.EP).RequestIdle }
		for n := range 5 {
			s.deliver(t, slices.Repeat([]udat.CompletionFlags{suppressed}, n)...)
			await(t, "the endpoint is not idle, though all sends have arrived", isIdle)
		}

		other, err := udat.AllocMemory(s.PZ, heldSize, udat.MemPrivAll)
		want(t, err)
		segment, err := other.Segment(0, heldSize)
		want(t, err)
		s.deliver(t, suppressed, suppressed)
		held := hold(t, active, passive)
		held.segments = one(segment)
		held.one(1000, suppressed)
		want(t, other.Free(), udat.ErrInvalidState, udat.InvalidStateLMRInUse)
		if isIdle() {
			t.Error("the endpoint is idle, though a request is outstanding")
		}
		held.release()
		held.received()
		await(t, "the memory is in use, though the request is done", func() bool {
			err := other.Free()
			if err != nil {
				want(t, err, udat.InvalidStateLMRInUse)
			}
			return err == nil
		})
		await(t, "the endpoint is not idle, though all sends have arrived", isIdle)

		// What is not suppressed is over too when its completion is there, which the program takes when it likes.
		s.deliver(t, suppressed, signalled, suppressed)
		await(t, "the memory cannot be freed, though all sends have arrived", func() bool { return s.Memory.Free() == nil })
		if isIdle() {
			t.Error("the endpoint is idle, though a completion was not taken")
		}
		udattest.Expect(t, s.Request, udat.EventDTOCompletion)
		wantNoEvent(t, s.Request)
		wantState(t, s.EP, udat.EPStateConnected)
	})
}

// Neither the agent of a CNO nor a wait for several events is woken by suppressed sends
// that succeed, or by how the binding learns that they have.
func TestSuppressedWakeNobody(t *testing.T) {
	defer udat.SetSettleWithin(udattest.Patience)() // the machine may be busy
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRequestDTOs = depth
		active, passive := udattest.Pair(t, ia, &attr)
		cno := createCNO(t, ia, func(*udat.EVD) { t.Error("the agent is called") }, active.Request)
		s := newSender(active, passive)
		ctx, cancel := context.WithCancel(context.Background())
		waited := make(chan error)
		go func() { waited <- second(s.Request.WaitBatch(ctx, make([]udat.Event, 2), 2)) }()
		udat.AwaitWaiter(s.Request)
		for range 10 {
			s.deliver(t, suppressed, suppressed, suppressed)
			await(t, "the endpoint is not idle", func() bool { return status(t, s.EP).RequestIdle })
		}
		want(t, s.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, s.Connect, udat.EventConnectionDisconnected)
		want(t, s.Reset())
		cancel()
		want(t, receive(t, waited), context.Canceled)
		want(t, cno.ModifyAgent(nil))
		wantNoEvent(t, s.Request)
	})
}

// An operation that fails ends the connection: with it those behind it, which are
// reported, and none before it, which have succeeded. All are suppressed or not.
func TestFailureBehindSuppressed(t *testing.T) {
	defer udat.SetSettleWithin(udattest.Patience)() // the machine may be busy
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, flags := range []udat.CompletionFlags{signalled, suppressed} {
			t.Run(flags.String(), func(t *testing.T) {
				attr := udattest.DefaultAttr(t, ia)
				attr.MaxRequestDTOs = depth
				active, passive := udattest.Pair(t, ia, &attr)
				s := newSender(active, passive)
				s.deliver(t, suppressed, suppressed)
				s.answer(t)
				remote, err := passive.Memory.RMRTriplet(0, messageSize)
				want(t, err)
				remote.RMRContext ^= 0xffff00
				const failing = 500
				behind, post := 3, s.PostRDMAWrite
				if udattest.IWARP(t, ia) {
					behind, post = 0, s.PostRDMARead // the others may have succeeded when the peer refuses them
				}
				want(t, post(one(s.Segment(t, 0, messageSize)), failing, remote, flags))
				for i := range uint64(behind) {
					want(t, s.PostSend(one(s.Segment(t, 0, messageSize)), failing+1+i, suppressed))
				}
				for i := range uint64(behind + 1) {
					event := udattest.Expect(t, s.Request, udat.EventDTOCompletion)
					if event.Cookie != failing+i || event.Err() == nil {
						t.Errorf("completion %d is %+v", i, event)
					}
				}
				if event := udattest.Wait(t, s.Connect); event.Number != udat.EventConnectionBroken && !udattest.IWARP(t, ia) {
					t.Errorf("the connection ended with %v", event.Number)
				}
				wantNoEvent(t, s.Request)
				if !status(t, s.EP).RequestIdle {
					t.Error("the endpoint is not idle")
				}
				want(t, s.Memory.Free())
				want(t, s.Reset())
				wantNoEvent(t, s.Request)
			})
		}
	})
}

// Of requests whose completions the library loses, those that are suppressed may
// have succeeded: nothing is said of them.
func TestLostCompletions(t *testing.T) {
	defer udat.SetSettleWithin(50 * time.Millisecond)()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRequestDTOs = depth
		active, passive := udattest.Pair(t, ia, &attr)
		s := newSender(active, passive)
		s.hold(t, suppressed, signalled, suppressed, suppressed, signalled, suppressed)
		udat.LoseCompletions(s.EP)
		want(t, s.Disconnect(udat.CloseAbrupt))
		s.held.restore()
		udattest.Expect(t, s.Connect, udat.EventConnectionDisconnected)
		// On iWARP the end of the connection completes what is lost, otherwise a reset.
		if !udattest.IWARP(t, ia) {
			wantNoEvent(t, s.Request)
			if status(t, s.EP).RequestIdle {
				t.Error("the endpoint is idle, though completions are missing")
			}
			want(t, s.Memory.Free(), udat.ErrInvalidState, udat.InvalidStateLMRInUse)
			want(t, s.Reset())
		}
		cookies := []uint64{2, 5}
		if udattest.IWARP(t, ia) {
			cookies = []uint64{1, 2, 3, 4, 5, 6} // reads, which are known to have failed
		}
		for _, cookie := range cookies {
			wantCompletion(t, s.Request, cookie, udat.DTOErrFlushed)
		}
		wantNoEvent(t, s.Request)
		if !status(t, s.EP).RequestIdle {
			t.Error("after the reset the endpoint is not idle")
		}
		want(t, s.Memory.Free())
	})
}
