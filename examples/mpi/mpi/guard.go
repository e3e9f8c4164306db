package mpi

import (
	"fmt"
	"time"
)

// When a process ends, its kernel ends its connections. A machine that loses its
// power, or its link, says nothing, and adapters may try for minutes to reach it.
// So a goroutine sees to it that each connection completes something from time to
// time: it has the peer's adapter answer, which it does whatever the peer's program does.

const (
	// defaultBound is how long it takes at most, by default, until operations fail
	// when a rank cannot be reached any more.
	defaultBound = 30 * time.Second
	// checks is how many times in a bound the connections are looked at, and silence
	// how many times in a row nothing may have happened. One more check passes before
	// the first that counts.
	checks  = 5
	silence = 3
)

// guard looks at the connections until the end.
func (w *World) guard() {
	defer w.work.Done()
	ticks := time.NewTicker(w.bound / checks)
	defer ticks.Stop()
	for {
		select {
		case <-w.running.Done():
			return
		case <-ticks.C:
		}
		w.mu.Lock()
		if w.err == nil && !w.left {
			w.pollAll() // what has come is news of who seems to be silent
			w.trim()
			for _, p := range w.linked {
				if err := p.check(); err != nil {
					p.lose(err)
				}
			}
		}
		w.mu.Unlock()
	}
}

// check takes note whether the connection has completed something since the last
// check, and fails when it has not for too long.
func (p *peer) check() error {
	w := p.world
	switch p.link {
	case idle, lost:
		return nil
	case connected:
		if p.delivered != p.checked || p.posted == p.delivered {
			p.checked, p.silent = p.delivered, 0
		} else if p.silent++; p.silent >= silence {
			return fmt.Errorf("it has not answered for %v", silence*w.bound/checks)
		}
		return p.confirm()
	default:
		// The connection is being made, which the peer's program takes part in.
		if p.silent++; p.silent >= checks {
			return fmt.Errorf("no connection to it could be made within %v", w.bound)
		}
	}
	return nil
}
