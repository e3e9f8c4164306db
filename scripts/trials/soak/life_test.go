//go:build linux

package soak

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/udat"
)

// bound is the program's bound for each operation: far longer than any takes, even on a busy machine.
const bound = 60 * time.Second

// life is one connection, from the first posted receive to the last completion, as one end sees it.
type life struct {
	*end
	server  bool
	peer    *life
	plan    *plan
	number  uint32 // of the connection; in all cookies
	sending key
	getting key

	established moment // it is connected, or cannot be any more
	over        moment // only flushed receives can still come
	freed       moment // the endpoint is freed early
	idle        moment // all requests of a plan with a limit have completed

	wasEstablished bool
	freeing        atomic.Bool

	// Requests: posted, completed, succeeded, and the first failure.
	requested, completed, acknowledged int
	failure                            error
	made                               atomic.Int64 // requested, for whoever disconnects
	inTime                             int          // those that were posted before that, if it is this end

	// Receives: the same; the messages are those of the peer's requests up to next.
	receives, taken, messages, next int
	flushed                         bool

	turn
}

func (e *end) newLife(p *plan, server bool, number uint32, sending, getting key) *life {
	return &life{
		end: e, server: server, plan: p, number: number, sending: sending, getting: getting,
		established: newMoment(), over: newMoment(), freed: newMoment(), idle: newMoment(),
		turn: turn{given: make(chan struct{}, 1), closing: newMoment()},
	}
}

// moment is a context that ends when something has happened, which now says.
type moment struct {
	context.Context
	now context.CancelFunc
}

func newMoment() moment {
	ctx, now := context.WithCancel(context.Background())
	return moment{ctx, now}
}

// prepare posts the receives, and writes the memory that the peer reads.
func (l *life) prepare() error {
	l.sending.fill(l.memory.Bytes()[exposedAt:][:exposedSize], exposed, 0)
	for range posted {
		if err := l.postReceive(); err != nil {
			return fmt.Errorf("posting receives before the connection: %w", err)
		}
	}
	return nil
}

func (l *life) cookie(n int) uint64 { return uint64(l.number)<<32 | uint64(n) }

// connect connects. Its private data has the number of the life.
func (l *life) connect(address connectTo) error {
	number := binary.BigEndian.AppendUint32(nil, l.number)
	if err := l.ep.Connect(address.addr, address.qual, bound, number); err != nil && !l.isFreed(err) {
		return err
	}
	return nil
}

// accept accepts the request for this life. It returns false if no request came, or none that can be accepted, because
// the other end has given up.
func (l *life) accept(requests *udat.EVD) (accepted bool, err error) {
	ctx, cancel := l.untilPeerGaveUp()
	defer cancel()
	for {
		event, err := requests.Wait(ctx)
		if err != nil {
			return false, l.excuse(err)
		}
		cr := event.CR()
		param, err := cr.Query()
		if err != nil {
			return false, err
		}
		if len(param.PrivateData) < 4 || binary.BigEndian.Uint32(param.PrivateData) != l.number {
			cr.Reject(nil) // of an earlier life, whose client has given up
			continue
		}
		if err := cr.Accept(l.ep, nil); err != nil {
			return false, l.excuse(err)
		}
		return true, nil
	}
}

// untilPeerGaveUp returns a context for waits that may fail if the plan is that the other end gives up.
func (l *life) untilPeerGaveUp() (context.Context, context.CancelFunc) {
	const later = 500 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	if l.plan.early {
		stop := context.AfterFunc(l.peer.over, func() { time.AfterFunc(later, cancel) })
		return ctx, func() { stop(); cancel() }
	}
	return ctx, cancel
}

// excuse returns nil instead of the error if the other end has given up.
func (l *life) excuse(err error) error {
	if l.plan.early {
		return nil
	}
	return err
}

// isFreed reports whether an error is what a call must return whose endpoint is freed during the call.
func (l *life) isFreed(err error) bool {
	return errors.Is(err, udat.ErrClosed) && l.freeing.Load()
}

// run is the life from the call that begins the connection to its end.
func (l *life) run() error {
	defer l.over.now()
	defer l.established.now()
	defer l.idle.now()
	event, err := l.outcome()
	if err != nil {
		return err
	}
	if event != 0 && event != udat.EventConnectionEstablished && !l.plan.early {
		return fmt.Errorf("the connection is not established: %v", event)
	}
	if event != udat.EventConnectionEstablished {
		return l.takeReceives() // the other end may have seen it established
	}
	l.wasEstablished = true
	l.established.now()
	ctx, stop := context.WithCancel(context.Background())
	received := make(chan error, 1)
	go func() { received <- l.receive(ctx) }()
	err = l.request()
	l.idle.now()
	if err == nil {
		err = l.ending()
	}
	stop()
	err = errors.Join(err, <-received)
	if err == nil {
		err = l.takeReceives() // messages that arrived before the end
	}
	return err
}

// outcome returns the event that begins or refuses the connection, or 0 if the endpoint is freed.
func (l *life) outcome() (udat.EventNumber, error) {
	ctx, cancel := l.untilPeerGaveUp()
	defer cancel()
	event, err := l.connectionEvent(ctx)
	if err == nil || ctx.Err() == nil || l.excuse(err) != nil {
		return event, err
	}
	// The other end has given up, and this end does not learn it.
	if err := l.ep.Disconnect(udat.CloseAbrupt); l.isFreed(err) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	ctx, cancel = context.WithTimeout(context.Background(), bound)
	defer cancel()
	return l.connectionEvent(ctx)
}

// ending waits for the event that ends the connection.
func (l *life) ending() error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	event, err := l.connectionEvent(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("the connection has no end: %w", err)
	case event != 0 && event != udat.EventConnectionDisconnected && event != udat.EventConnectionBroken:
		return fmt.Errorf("the connection ends with %v", event)
	}
	return nil
}

// connectionEvent returns the next event of the connection, or 0 if the endpoint is freed.
func (l *life) connectionEvent(ctx context.Context) (udat.EventNumber, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.freed, cancel)()
	event, err := l.conn.Wait(ctx)
	if l.freed.Err() != nil {
		return 0, nil
	}
	return event.Number, err
}

// request keeps requests outstanding until one fails, or up to the plan's limit, and then waits for all completions.
func (l *life) request() error {
	var events [window]udat.Event
	for {
		for l.wantsMore() && l.requested-l.completed < window && l.hasTurn() {
			err := l.postRequest(l.requested)
			if errors.Is(err, udat.ErrInvalidState) || err != nil && l.isFreed(err) {
				l.failure = err // the connection has ended
				break
			}
			if err != nil {
				return err
			}
			l.requested++
			l.made.Store(int64(l.requested))
		}
		if l.requested == l.completed {
			if !l.wantsMore() {
				return nil
			}
			if err := l.awaitTurn(); err != nil {
				return err
			}
			continue
		}
		n, err := l.await(events[:])
		if err != nil {
			return fmt.Errorf("%d requests do not complete: %w", l.requested-l.completed, err)
		}
		if n == 0 {
			return nil
		}
		for i := range events[:n] {
			if err := l.finished(&events[i]); err != nil {
				return err
			}
		}
	}
}

// wantsMore reports whether there are more requests to post.
func (l *life) wantsMore() bool {
	return l.failure == nil && (l.plan.limit == 0 || l.requested < l.plan.limit)
}

// await takes completions of requests. It returns none only if the endpoint is freed and there are no more.
func (l *life) await(events []udat.Event) (n int, err error) {
	if n, err = l.reqs.Poll(events); n > 0 || err != nil {
		return n, err
	}
	ctx, cancel := context.WithTimeout(l.freed, bound)
	defer cancel()
	n, err = l.reqs.WaitBatch(ctx, events, 1)
	if err != nil && l.freed.Err() != nil {
		return l.reqs.Poll(events)
	}
	return n, err
}

func (l *life) postRequest(n int) error {
	what, offset, length := l.sending.request(n)
	at := n % window * slotSize
	iov := l.segment(at, length)
	if what != rdmaRead {
		l.sending.fill(l.memory.Bytes()[at:][:length], n, 0)
	}
	switch what {
	case rdmaWrite:
		return l.ep.PostRDMAWrite(iov, l.cookie(n), l.peer.remote(landingAt+n%landing*slotSize, length), 0)
	case rdmaRead:
		return l.ep.PostRDMARead(iov, l.cookie(n), l.peer.remote(exposedAt+offset, length), 0)
	}
	return l.ep.PostSend(iov, l.cookie(n), 0)
}

func (l *life) remote(offset, length int) udat.RMRTriplet {
	r, err := l.memory.RMRTriplet(offset, length)
	if err != nil {
		panic(fmt.Sprintf("there is no piece of %d bytes at %d in the memory: %v", length, offset, err))
	}
	return r
}

// finished checks the completion of a request.
func (l *life) finished(event *udat.Event) error {
	n := l.completed
	if event.Cookie != l.cookie(n) {
		return fmt.Errorf("a request completes with the cookie %#x, the next is %#x", event.Cookie, l.cookie(n))
	}
	l.completed++
	if err := event.Err(); err != nil {
		if l.failure == nil {
			l.failure = err
		}
		return nil
	}
	if l.acknowledged < n {
		return fmt.Errorf("request %d succeeds, request %d did not", n, l.acknowledged)
	}
	l.acknowledged++
	what, offset, length := l.sending.request(n)
	if what != rdmaRead {
		return nil
	}
	return l.getting.check("what RDMA read", l.memory.Bytes()[n%window*slotSize:][:length], exposed, offset)
}

// receive takes messages and posts their receives again.
func (l *life) receive(ctx context.Context) error {
	var events [posted]udat.Event
	for {
		n, err := l.recv.WaitBatch(ctx, events[:], 1)
		if ctx.Err() != nil && n == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range events[:n] {
			if err := l.received(&events[i]); err != nil {
				return err
			}
			if l.flushed || ctx.Err() != nil {
				continue
			}
			if err := l.postReceive(); err != nil && !errors.Is(err, udat.ErrInvalidState) && !l.isFreed(err) {
				return fmt.Errorf("posting a receive: %w", err)
			}
		}
	}
}

func (l *life) postReceive() error {
	at := receivesAt + l.receives%posted*slotSize
	err := l.ep.PostRecv(l.segment(at, slotSize), l.cookie(l.receives), 0)
	if err == nil {
		l.receives++
		l.peer.giveTurn(&l.peer.credit)
	}
	return err
}

// takeReceives takes the completions of receives that are there.
func (l *life) takeReceives() error {
	var events [posted]udat.Event
	for {
		n, err := l.recv.Poll(events[:])
		if n == 0 || err != nil {
			return err
		}
		for i := range events[:n] {
			if err := l.received(&events[i]); err != nil {
				return err
			}
		}
	}
}

// received checks the completion of a receive: it has the message of the peer's next send, and the writes before that
// send have landed.
func (l *life) received(event *udat.Event) error {
	n := l.taken
	if event.Cookie != l.cookie(n) {
		return fmt.Errorf("a receive completes with the cookie %#x, the next is %#x", event.Cookie, l.cookie(n))
	}
	l.taken++
	if event.Err() != nil {
		l.flushed = true
		return nil
	}
	if l.flushed {
		return fmt.Errorf("receive %d succeeds after one that failed", n)
	}
	for ; ; l.next++ {
		what, _, length := l.getting.request(l.next)
		switch what {
		case send:
			l.next++
			l.messages++
			l.giveTurn(&l.heard)
			if int(event.Length) != length {
				return fmt.Errorf("message %d has %d bytes, want %d", l.messages-1, event.Length, length)
			}
			at := receivesAt + n%posted*slotSize
			return l.getting.check("the message", l.memory.Bytes()[at:][:length], l.next-1, 0)
		case rdmaWrite:
			if err := l.landed(l.next, length); err != nil {
				return err
			}
		}
	}
}

// landed checks the memory of the peer's RDMA write.
func (l *life) landed(n, length int) error {
	return l.getting.check("what RDMA write", l.memory.Bytes()[landingAt+n%landing*slotSize:][:length], n, 0)
}

// compare checks, when both ends have finished, that the peer has everything that this end's completions promised.
func (l *life) compare() error {
	promised := l.acknowledged
	if l.iwarp && l.plan.alone(l) != gracefully {
		promised = 0
	}
	sends, acknowledged := 0, 0
	for n := range l.requested {
		what, _, length := l.sending.request(n)
		switch {
		case what == send:
			sends++
			if n < promised {
				acknowledged++
			}
		case what == rdmaWrite && n < promised && n >= l.requested-landing:
			if err := l.peer.landed(n, length); err != nil {
				return fmt.Errorf("acknowledged, but %w", err)
			}
		}
	}
	if l.plan.alone(l) == gracefully && l.acknowledged < l.inTime {
		return fmt.Errorf("of %d requests %d have succeeded before a graceful disconnect, then came %w", l.inTime, l.acknowledged, l.failure)
	}
	got := l.peer.messages
	if got > sends || got < acknowledged && !l.peer.freeing.Load() {
		return fmt.Errorf("of %d messages %d were acknowledged, and %d have arrived", sends, acknowledged, got)
	}
	return nil
}

// finish checks that the connection has left nothing open, and prepares the end for the next one.
func (l *life) finish(how renewal) error {
	if !l.freeing.Load() {
		status, err := l.ep.GetStatus()
		switch {
		case err != nil:
			return err
		case status.State == udat.EPStateUnconnected && l.plan.early && !l.wasEstablished:
			how = max(how, remake) // with posted receives that belong to this life
		case status.State != udat.EPStateDisconnected || !status.RequestIdle:
			return fmt.Errorf("after the connection the endpoint is in %+v", status)
		}
	} else {
		how = max(how, remake)
	}
	if err := l.renew(how); err != nil {
		return fmt.Errorf("the end, to be %v: %w", how, err)
	}
	if how == remakeAll {
		return nil
	}
	if err := l.takeReceives(); err != nil {
		return err
	}
	if how == reset && l.taken != l.receives {
		return fmt.Errorf("of %d receives %d have completed, after a reset", l.receives, l.taken)
	}
	if how == reset {
		if event, err := l.conn.Dequeue(); err == nil {
			return fmt.Errorf("the connection has ended, and then comes %v", event.Number)
		}
	}
	return nil
}

// A turn says when an end may post its next request over iWARP. The end that accepts must not send before it has heard
// from the other. A message for which no receive is posted ends the connection, so an end sends only as many as the peer
// has posted receives. Other transports need none of this: they hold a message back.
type turn struct {
	heard  atomic.Int64 // messages from the peer
	credit atomic.Int64 // receives that the peer has posted
	sends  int64

	given   chan struct{} // something has changed
	closing moment        // either end begins to end the connection: there may be no more turns
}

// giveTurn counts something that this end waits for.
func (t *turn) giveTurn(n *atomic.Int64) {
	n.Add(1)
	select {
	case t.given <- struct{}{}:
	default:
	}
}

// hasTurn reports whether this end may post its next request, which the caller then does.
func (l *life) hasTurn() bool {
	if !l.iwarp {
		return true
	}
	if l.server && l.heard.Load() == 0 {
		return false
	}
	if what, _, _ := l.sending.request(l.requested); what != send {
		return true
	}
	if l.sends == l.credit.Load() {
		return false
	}
	l.sends++
	return true
}

var errClosing = errors.New("the connection is being ended")

// awaitTurn waits until hasTurn may report something else. The failure is set if the connection is being ended.
func (l *life) awaitTurn() error {
	ctx, cancel := context.WithTimeout(l.closing, bound)
	defer cancel()
	select {
	case <-l.given:
	case <-ctx.Done():
		if l.closing.Err() == nil {
			return fmt.Errorf("the peer has posted no receive for message %d", l.sends)
		}
		l.failure = errClosing
	}
	return nil
}
