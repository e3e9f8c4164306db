//go:build linux

package reliability

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// A stream is a sequence of numbered messages with different lengths and contents. The receiver checks them.
const (
	slotSize   = 8 << 10
	window     = 16 // outstanding sends
	posted     = 64 // receives
	memorySize = (window + posted) * slotSize
	leastSize  = 8
)

// message returns the content of a message.
func message(number int) []byte {
	r := rand.New(rand.NewPCG(uint64(number), 7))
	b := make([]byte, leastSize+r.IntN(slotSize-leastSize+1))
	binary.BigEndian.PutUint64(b, uint64(number))
	for i := leastSize; i < len(b); i++ {
		b[i] = byte(number + i*(number|1))
	}
	return b
}

// sent is the result of a stream at the sender.
type sent struct {
	acknowledged int           // how many of the first messages succeeded
	arrived      int           // how many are known to be at the peer: see credit
	failure      error         // of the first message that did not succeed
	slowest      time.Duration // between two completions
}

// of describes a stream of n messages.
func (r sent) of(n int) string {
	if r.failure == nil && r.acknowledged == n {
		return fmt.Sprintf("all %d succeeded", n)
	}
	return fmt.Sprintf("%d succeeded, then one ended with %v", r.acknowledged, r.failure)
}

// rounded rounds a time to a useful precision.
func rounded(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// send sends n messages, or until one fails.
func (s *scene) send(e *udattest.Endpoint, n int, disturb map[int]func()) sent {
	s.Helper()
	c := s.startCredit(e)
	result := s.request(e, n, c, disturb, func(number int) error {
		return e.PostSend([]udat.Segment{s.fill(e, number)}, uint64(number), 0)
	}, nil)
	result.arrived = c.arrived(result)
	return result
}

// fill writes the content of a message into the memory that it is sent or written from.
func (s *scene) fill(e *udattest.Endpoint, number int) udat.Segment {
	s.Helper()
	content := message(number)
	slot := number % window * slotSize
	copy(e.Memory.Bytes()[slot:], content)
	return e.Segment(s.T, slot, len(content))
}

// request posts n operations, or until one fails, and then waits for the completions of all posted ones. It calls
// completed, unless nil, for each success. If a completion does not come within the patience, request disconnects the
// endpoint; the remaining completions must then come within the bound.
func (s *scene) request(e *udattest.Endpoint, n int, c *credit, disturb map[int]func(), post func(number int) error, completed func(number int)) (result sent) {
	s.Helper()
	next, done := 0, 0
	last := time.Now()
	gaveUp, failed := false, false
	for {
		for next < n && next-done < window && result.failure == nil && !gaveUp && c.covers(next) {
			if d := disturb[next]; d != nil {
				d()
			}
			err := post(next)
			if errors.Is(err, udat.ErrInvalidState) || s.losing && errors.Is(err, udat.ErrInternalError) {
				result.failure = err // the connection has ended meanwhile
				break
			}
			s.do(err)
			next++
		}
		if done == next && next < n && result.failure == nil && !gaveUp {
			if result.failure = c.await(); errors.Is(result.failure, errNoCredit) {
				s.do(e.Disconnect(udat.CloseAbrupt))
			}
			continue
		}
		if done == next {
			return result
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.patience)
		event, err := e.Request.Wait(ctx)
		cancel()
		if err != nil {
			if gaveUp {
				s.Fatalf("no completion of %d operations, and none after the disconnect: %v", next-done, err)
			}
			gaveUp, s.patience = true, bound
			s.do(e.Disconnect(udat.CloseAbrupt))
			continue
		}
		result.slowest = max(result.slowest, time.Since(last))
		last = time.Now()
		if event.Cookie != uint64(done) {
			s.Fatalf("the completion of operation %d comes instead of that of %d", event.Cookie, done)
		}
		switch err := event.Err(); {
		case err == nil && failed:
			s.Errorf("operation %d succeeds after one that failed", done)
		case err == nil:
			result.acknowledged++
			if completed != nil {
				completed(done)
			}
		default:
			failed = true
			if result.failure == nil {
				result.failure = err
			}
		}
		done++
	}
}

// receiver receives a stream.
type receiver struct {
	s        *scene
	e        *udattest.Endpoint
	received atomic.Int64 // messages, each checked
	cancel   context.CancelFunc
	done     chan struct{}
}

// receive receives messages until end.
func (s *scene) receive(e *udattest.Endpoint) *receiver {
	ctx, cancel := context.WithCancel(context.Background())
	r := &receiver{s: s, e: e, cancel: cancel, done: make(chan struct{})}
	for i := range posted {
		s.do(r.post(i))
	}
	s.Cleanup(r.end)
	go r.run(ctx)
	return r
}

func (r *receiver) post(number int) error {
	slot := (window + number%posted) * slotSize
	return r.e.PostRecv([]udat.Segment{r.e.Segment(r.s.T, slot, slotSize)}, uint64(number), 0)
}

func (r *receiver) run(ctx context.Context) {
	defer close(r.done)
	for event, err := range r.e.Recv.Events(ctx) {
		if err != nil || event.Err() != nil {
			return
		}
		number := int(r.received.Load())
		slot := (window + number%posted) * slotSize
		got := r.e.Memory.Bytes()[slot:][:event.Length]
		if event.Cookie != uint64(number) || !slices.Equal(got, message(number)) {
			r.s.Errorf("instead of message %d comes one of %d bytes, receive %d", number, len(got), event.Cookie)
			return
		}
		r.received.Add(1)
		if err := r.post(number + posted); err != nil {
			return
		}
		r.give()
	}
}

func (r *receiver) end() {
	r.cancel()
	<-r.done
}

// expect ends the receiver when all messages that the sender knows of have come.
func (r *receiver) expect(arrived int) {
	r.s.Helper()
	// The message is there before its acknowledgement, and its completion soon.
	for deadline := time.Now().Add(bound); int(r.received.Load()) < arrived && time.Now().Before(deadline); {
		select {
		case <-r.done:
			deadline = time.Now()
		case <-time.After(time.Millisecond):
		}
	}
	r.end()
	if got := int(r.received.Load()); got < arrived {
		r.s.Errorf("%d messages were acknowledged, %d have arrived", arrived, got)
	}
}

// deliver sends n messages from near to far, with a disturbance at the given numbers, and checks that the acknowledged
// messages have arrived.
func (s *scene) deliver(e *udattest.Endpoint, n int, disturb map[int]func()) (result sent) {
	s.Helper()
	if s.near() {
		s.meet("") // the receives are posted
		result = s.send(e, n, disturb)
		s.meet(strconv.Itoa(result.arrived)) // without the other side if its machine is gone
		s.meet("")
		return result
	}
	r := s.receive(e)
	s.meet("")
	r.expect(s.tell(0))
	s.meet("")
	return sent{acknowledged: int(r.received.Load())}
}

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
