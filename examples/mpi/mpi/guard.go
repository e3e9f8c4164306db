package mpi

import (
	"fmt"
	"slices"
	"time"
)

// When a process ends, its kernel ends its connections. But a machine that loses its power or its link sends nothing,
// and adapters may try for minutes to reach it. So a goroutine makes each connection complete an operation from time
// to time, which needs an answer from the peer's adapter, but not from the peer's program.

const (
	// defaultBound is the default of Options.Bound.
	defaultBound = 30 * time.Second
	// checks is how many times within the bound the connections are checked, and silence how many checks in a row may
	// find that nothing has completed. One check may pass before the first that counts.
	checks  = 5
	silence = 3
)

// guard checks the connections until the world ends.
func (w *World) guard() {
	ticks := time.NewTicker(w.bound / checks)
	defer ticks.Stop()
	for {
		select {
		case <-w.running.Done():
			return
		case <-ticks.C:
		}
		w.checkAll()
	}
}

func (w *World) checkAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.left {
		return
	}
	w.pollAll() // a peer that seemed silent may have sent something
	w.trim()
	w.ask()
	for _, p := range w.linked {
		if err := p.check(); err != nil {
			p.lose(err)
		}
	}
}

// ask has the collective operations ask those that they wait for.
func (w *World) ask() {
	for _, c := range w.comms {
		for _, s := range slices.Clone(c.running) {
			s.ask()
		}
	}
}

// check records whether the connection has completed something since the last check, and fails if it has not for too
// long.
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
		// The connection is being established, which needs the peer's program.
		if p.silent++; p.silent >= checks {
			return fmt.Errorf("no connection to it could be made within %v", w.bound)
		}
	}
	return nil
}
