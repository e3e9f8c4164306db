//go:build linux

package soak

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// A turn says when an end may post its next request over iWARP. The end that accepts must not send before it has heard
// from the other. A message for which no receive is posted ends the connection, so an end sends only as many as the peer
// has posted receives. Other transports need none of this: they hold a message back.
type turn struct {
	heard  atomic.Int64 // messages from the peer
	credit atomic.Int64 // receives that the peer has posted
	sends  int64

	given   chan struct{} // something has changed
	closing context.Context
	// nowClosing is called when either end begins to end the connection: there may be no more turns.
	nowClosing context.CancelFunc
}

func newTurn() turn {
	closing, nowClosing := context.WithCancel(context.Background())
	return turn{given: make(chan struct{}, 1), closing: closing, nowClosing: nowClosing}
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
