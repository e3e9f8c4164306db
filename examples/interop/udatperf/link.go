package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
)

// link is an endpoint with its event dispatchers. It counts operations, so that it can check that each completion is
// the expected one. Only one goroutine uses it.
type link struct {
	ep      *udat.EP
	connect *udat.EVD
	request *udat.EVD
	recv    *udat.EVD

	wait     bool // wait for events instead of spinning
	requests int  // most requests outstanding
	receives int  // most receives outstanding
	events   []udat.Event

	connected         bool
	posted, completed uint64 // requests

	segment           udat.Segment // for received messages
	expected          int          // receives that are not posted yet
	prepared, arrived uint64       // receives
}

// batch is the most completions that are taken at once.
const batch = 16

// spinBudget is how long a poll spins before it checks whether the run is over.
const spinBudget = time.Millisecond

// newLink makes an unconnected endpoint. The caller frees the link, also when
// newLink fails.
func newLink(ia *udat.IA, pz *udat.PZ, requests, receives int, wait bool) (*link, error) {
	l := &link{wait: wait, requests: requests, receives: receives, events: make([]udat.Event, batch)}
	for _, e := range []struct {
		evd    **udat.EVD
		length int
		flags  udat.EVDFlags
	}{{&l.connect, 8, udat.EVDConnection}, {&l.request, requests, udat.EVDDTO}, {&l.recv, receives, udat.EVDDTO}} {
		var err error
		if *e.evd, err = udat.CreateEVD(ia, e.length, nil, e.flags); err != nil {
			return l, err
		}
	}
	var err error
	l.ep, err = udat.CreateEP(ia, pz, l.recv, l.request, l.connect, &udat.EPAttr{MaxRecvDTOs: receives, MaxRequestDTOs: requests})
	return l, err
}

func (l *link) free() error {
	if l == nil {
		return nil
	}
	var errs []error
	if l.ep != nil {
		errs = append(errs, l.settle(), l.ep.Free())
	}
	for _, evd := range []*udat.EVD{l.connect, l.request, l.recv} {
		if evd != nil {
			errs = append(errs, evd.Free())
		}
	}
	return errors.Join(errs...)
}

// settleTime bounds the wait for the end of a connection, which comes as soon as the library's thread runs.
const settleTime = 30 * time.Second

// settle ends the connection, if there is one, and all outstanding operations. Not every device completes a receive
// that was posted while the connection ended; Reset does.
func (l *link) settle() error {
	if !l.connected {
		return nil
	}
	if err := l.ep.Disconnect(udat.CloseAbrupt); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	for {
		status, err := l.ep.GetStatus()
		if err != nil {
			return err
		}
		if status.State == udat.EPStateDisconnected {
			return l.ep.Reset()
		}
		if _, err := l.connect.Wait(ctx); err != nil {
			return fmt.Errorf("waiting for the end of the connection: %w", err)
		}
	}
}

// established waits until the connection is established.
func (l *link) established(ctx context.Context) error {
	_, err := l.connect.Expect(ctx, udat.EventConnectionEstablished)
	switch {
	case errors.Is(err, udat.EventConnectionNonPeerRejected):
		return fmt.Errorf("connecting: nobody listens there: start the server first (%w)", udat.EventConnectionNonPeerRejected)
	case err != nil:
		return fmt.Errorf("connecting: %w", err)
	}
	l.connected = true
	return nil
}

// take returns one or more completions, all successful.
func (l *link) take(ctx context.Context, evd *udat.EVD, events []udat.Event) (n int, err error) {
	if l.wait {
		n, err = evd.WaitBatch(ctx, events, 1)
	}
	for !l.wait && n == 0 && err == nil {
		if n, err = evd.SpinPoll(events, spinBudget); n == 0 && err == nil {
			err = ctx.Err()
		}
	}
	if err != nil {
		return 0, err
	}
	return n, l.check(events[:n])
}

func (l *link) check(events []udat.Event) error {
	for _, event := range events {
		if err := event.Err(); err != nil {
			return fmt.Errorf("%v: %w%s", event.Operation, err, l.ending())
		}
	}
	return nil
}

// ending says how the connection ended, since the failed operation does not.
func (l *link) ending() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	event, err := l.connect.Wait(ctx)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", the connection ended with %v", event.Number)
}

// outstanding is the number of requests that have not completed.
func (l *link) outstanding() int { return int(l.posted - l.completed) }

// done counts completions of requests, which come in the order of posting.
func (l *link) done(events []udat.Event) error {
	for _, event := range events {
		if event.Cookie != l.completed {
			return fmt.Errorf("request %d completed, want %d", event.Cookie, l.completed)
		}
		l.completed++
	}
	return nil
}

// reap waits until at most a given number of requests are outstanding.
func (l *link) reap(ctx context.Context, some int) error {
	for l.outstanding() > some {
		n, err := l.take(ctx, l.request, l.events)
		if err == nil {
			err = l.done(l.events[:n])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reapReady takes the waiting completions. It blocks only if no more requests can be posted.
func (l *link) reapReady(ctx context.Context) error {
	n, err := l.request.Poll(l.events)
	if err == nil {
		err = l.check(l.events[:n])
	}
	if err == nil {
		err = l.done(l.events[:n])
	}
	if err != nil {
		return err
	}
	return l.reap(ctx, l.requests-1)
}

// expect prepares for count messages into a segment: it posts as many receives as possible, and replenish posts the
// others.
func (l *link) expect(segment udat.Segment, count int) error {
	l.segment, l.expected = segment, count
	return l.replenish()
}

func (l *link) replenish() error {
	for l.expected > 0 && int(l.prepared-l.arrived) < l.receives {
		if err := l.ep.PostRecv([]udat.Segment{l.segment}, l.prepared, 0); err != nil {
			return err
		}
		l.prepared++
		l.expected--
	}
	return nil
}

// receive waits for messages, takes at most a given number, and returns how many it took. Each must fill the segment.
func (l *link) receive(ctx context.Context, most int) (int, error) {
	n, err := l.take(ctx, l.recv, l.events[:min(most, batch)])
	if err != nil {
		return 0, err
	}
	for _, event := range l.events[:n] {
		if event.Cookie != l.arrived || int(event.Length) != l.segment.Len() {
			return 0, fmt.Errorf("message %d of %d bytes arrived, want %d of %d bytes", event.Cookie, event.Length, l.arrived, l.segment.Len())
		}
		l.arrived++
	}
	return n, nil
}
