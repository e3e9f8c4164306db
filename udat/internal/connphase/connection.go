package connphase

import (
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/udat/internal/lockorder"
)

// A Connection goes through the phases once. E is an event of the program. The zero
// value is idle. Its methods may be called from any goroutine; a function that is
// given to them must call none of them.
type Connection[E any] struct {
	phase atomic.Uint32 // written under mu

	mu        lockorder.Mutex[lockorder.Last]
	inLibrary bool // since the attempt has begun, the library has not told its outcome
	told      bool // the program has been told of the establishment
	broken    bool // see Break
	owed      *E
	ofEnd     bool        // what is owed is the end of a connection, and not of an attempt
	timer     *time.Timer // ends what takes too long in this phase
	changed   chan struct{}
}

// Phase returns the phase that the connection is in.
func (c *Connection[E]) Phase() Phase { return Phase(c.phase.Load()) }

// Do makes a move that is no event. It reports whether that is allowed.
func (c *Connection[E]) Do(in Input) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, allowed := c.take(in)
	return allowed
}

// Owe makes a move, if it is allowed and possible, after which the program is owed
// an event. No other move comes between the question and the move.
func (c *Connection[E]) Owe(in Input, event E, possible func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !table[c.Phase()][in].allowed || !possible() {
		return false
	}
	c.ofEnd = c.Phase() != Attempting
	c.take(in)
	c.owed = &event
	return true
}

// Hear makes the move of an event of the library. If that is the end of a
// connection which is not settled yet, the outcome is Hold, and the event is owed.
func (c *Connection[E]) Hear(in Input, event E, settled func() bool) Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.Phase()
	outcome, _ := c.take(in)
	if in != Disconnect && c.inLibrary { // as which the library may report what the binding has aborted
		c.inLibrary = false
		c.signal()
	}
	switch {
	case in == Establish && outcome == Deliver:
		if c.told {
			return Drop
		}
		c.told = true
	case outcome == Deliver && !settled():
		outcome = Hold
	}
	if outcome == Owe || outcome == Hold {
		c.owed, c.ofEnd = &event, from != Attempting
	}
	return outcome
}

// take makes a move. The caller holds mu.
func (c *Connection[E]) take(in Input) (outcome Outcome, allowed bool) {
	from := c.Phase()
	m := table[from][in]
	if !m.allowed {
		return None, false
	}
	switch in {
	case Begin:
		c.inLibrary = true
	case Withdraw:
		c.inLibrary = false
	}
	if m.to != from {
		c.phase.Store(uint32(m.to))
		c.stopTimer()
		c.signal()
	}
	return m.outcome, true
}

// TakeOwed returns the event that the program is owed, once, and whether it is the
// end of a connection, and not of an attempt.
func (c *Connection[E]) TakeOwed() (event E, ofConnection, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owed == nil {
		return event, false, false
	}
	event, c.owed = *c.owed, nil
	return event, c.ofEnd, true
}

// Decided is Phase with regard to a move that is being decided on at the moment.
func (c *Connection[E]) Decided() Phase {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Phase()
}

// InLibrary reports whether the library may work on the attempt, which goes on
// there when the binding has ended it.
func (c *Connection[E]) InLibrary() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inLibrary
}

// Break notes that the connection is broken, whatever is reported of its end,
// unless that has begun.
func (c *Connection[E]) Break() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.Phase().Ending() {
		c.broken = true
	}
}

// Broken reports whether the connection was found broken before its end began.
func (c *Connection[E]) Broken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// Limit calls expired on a goroutine of its own if the connection is in the given
// phase, and stays there for so long. It takes the place of the limit before.
func (c *Connection[E]) Limit(in Phase, within time.Duration, expired func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Phase() != in {
		return
	}
	c.stopTimer()
	var t *time.Timer
	t = time.AfterFunc(within, func() {
		c.mu.Lock()
		counts := c.timer == t
		if counts {
			c.timer = nil
		}
		c.mu.Unlock()
		if counts {
			expired()
		}
	})
	c.timer = t
}

// Limited reports whether the phase has a limit.
func (c *Connection[E]) Limited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timer != nil
}

// Unlimit takes away the limit of the phase.
func (c *Connection[E]) Unlimit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopTimer()
}

func (c *Connection[E]) stopTimer() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

// Changed returns a channel that is closed when the connection moves, or the
// library tells the outcome of an attempt. What is to change is looked at after
// the call.
func (c *Connection[E]) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

func (c *Connection[E]) signal() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}
