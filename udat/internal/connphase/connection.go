package connphase

import (
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/udat/internal/lockorder"
)

// A Connection is the one connection of a native endpoint. It goes through the phases
// once. E is the type of the program's events. The zero value is Idle. A Connection is
// safe for concurrent use. The functions possible and settled, which DoAndKeep and Handle
// call, must not call its methods.
type Connection[E any] struct {
	phase atomic.Uint32 // written under mu

	mu        lockorder.Mutex[lockorder.Last]
	inLibrary bool          // an attempt has begun, and the library has not reported its outcome
	told      bool          // the program has got the event of the establishment
	broken    bool          // see Break
	kept      *E            // the event that is kept for the program, nil for none
	ofEnd     bool          // kept is the end of a connection, not of an attempt
	timer     *time.Timer   // the limit of this phase, nil for none
	changed   chan struct{} // see Changed
}

// Phase returns the phase that the connection is in.
func (c *Connection[E]) Phase() Phase { return Phase(c.phase.Load()) }

// Do makes the move of an input that is not an event. It reports whether the table
// allows the move.
func (c *Connection[E]) Do(in Input) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, allowed := c.take(in)
	return allowed
}

// DoAndKeep makes the move of an input if the table allows it and possible returns true.
// It then keeps the event for the program, which gets it later: see TakeKept. DoAndKeep
// reports whether it has made the move. No other move comes between the call of possible
// and the move.
func (c *Connection[E]) DoAndKeep(in Input, event E, possible func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !table[c.Phase()][in].allowed || !possible() {
		return false
	}
	c.ofEnd = c.Phase() != Attempting
	c.take(in)
	c.kept = &event
	return true
}

// Handle makes the move of an event of the library, and returns what to do with the
// event. If the event ends a connection and settled returns false, the outcome is
// KeepUntilSettled. With the outcomes KeepUntilSettled and KeepUntilReplaced the event is
// kept for the program: see TakeKept.
func (c *Connection[E]) Handle(in Input, event E, settled func() bool) Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.Phase()
	outcome, _ := c.take(in)
	// Disconnect does not show that the library is done with the attempt: the library
	// also reports it for an attempt that the binding has aborted, and goes on.
	if in != Disconnect && c.inLibrary {
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
		outcome = KeepUntilSettled
	}
	if outcome == KeepUntilReplaced || outcome == KeepUntilSettled {
		c.kept, c.ofEnd = &event, from != Attempting
	}
	return outcome
}

// take makes the move of an input, if the table allows it. The caller holds mu.
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

// TakeKept returns the event that was kept for the program, and forgets it. It also
// reports whether the event ends a connection, and not an attempt. If there is no event,
// ok is false.
func (c *Connection[E]) TakeKept() (event E, ofConnection, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		return event, false, false
	}
	event, c.kept = *c.kept, nil
	return event, c.ofEnd, true
}

// Decided is Phase, but it waits for a move that another goroutine is deciding on.
func (c *Connection[E]) Decided() Phase {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Phase()
}

// InLibrary reports whether the library may still work on the attempt. It may do so
// after the binding has aborted the attempt.
func (c *Connection[E]) InLibrary() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inLibrary
}

// Break notes that the connection is broken, however its end is reported later. It does
// nothing once the end has begun.
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

// Limit bounds the time in a phase. If the connection is in the given phase, and stays
// there for the given time, Limit calls expired on a goroutine of its own. A new limit
// replaces the former one.
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

// Unlimit removes the limit of the phase.
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

// Changed returns a channel that is closed when the connection moves to another phase,
// or when the library reports the outcome of an attempt. Call Changed before you look at
// what may change.
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
