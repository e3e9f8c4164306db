package mpi

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/goudat/goudat/udat"
)

// Whoever waits makes progress himself: he looks at the rings, and now and then at
// the event dispatchers, for as long as messages come soon. After a while in vain
// he sleeps, until an event wakes him, which eager messages and the ends of
// operations make. What is written into a ring makes none, so that he wakes to
// look by himself, too, the more rarely the longer it takes.
//
// A goroutine does the same for ranks that compute. It stays away while the
// program calls.

const (
	// dispatchTurns is after how many looks at the rings the event dispatchers are
	// looked at that have completions, and slowTurns those that have news of
	// connections. To ask one costs as much as some dozens of rings.
	dispatchTurns = 32
	slowTurns     = 512
	// patientTurns is for how many turns the shared receive queue is looked at each time
	// after an eager message has come.
	patientTurns = 64
)

// poll looks once at what may have come, and reports whether something has. The
// caller holds mu.
func (w *World) poll() bool {
	w.turn++
	return w.look(w.turn%dispatchTurns == 0, w.turn%slowTurns == 0)
}

// pollAll looks at everything.
func (w *World) pollAll() bool { return w.look(true, true) }

// look looks at the rings, at the event dispatchers whose events are waited for,
// and at others if it is to.
func (w *World) look(completions, connections bool) bool {
	found := false
	for _, p := range w.linked {
		if p.link == lost {
			continue
		}
		if p.link == parted {
			w.blocked = true
			p.disconnect()
			continue
		}
		news, err := p.look()
		if err != nil {
			p.lose(err)
		}
		found = found || news
	}
	if w.eagerTurns > 0 {
		w.eagerTurns--
	}
	if completions || w.eagerTurns > 0 {
		found = w.empty(w.received, (*World).eagerEvent) || found
	}
	if completions || w.blocked || w.reads > 0 {
		w.blocked = false
		for _, b := range w.banks {
			found = w.empty(b.requests, (*World).requestEvent) || found
		}
	}
	if connections {
		for _, b := range w.banks {
			found = w.empty(b.connections, (*World).connectionEvent) || found
		}
		found = w.empty(w.calls, (*World).callEvent) || found
	}
	return w.run() || found
}

// empty takes all events of an event dispatcher.
func (w *World) empty(evd *udat.EVD, take func(*World, udat.Event)) bool {
	// A handler may come here again, for which there is another buffer.
	if w.nesting++; w.nesting > len(w.events) {
		w.events = append(w.events, make([]udat.Event, 32))
	}
	defer func() { w.nesting-- }()
	events := w.events[w.nesting-1]
	found := false
	for {
		n, err := evd.Poll(events)
		if err != nil && w.running.Err() == nil {
			w.fail(err)
		}
		for _, event := range events[:n] {
			take(w, event)
		}
		found = found || n > 0
		if n < len(events) {
			return found
		}
	}
}

// eagerEvent takes what has come to the shared receive queue. Receives that were
// flushed are gone, and so is the world, soon.
func (w *World) eagerEvent(event udat.Event) {
	w.eagerTurns = patientTurns
	if event.Err() != nil {
		return
	}
	if err := w.take(int(event.Cookie), int(event.Length)); err != nil {
		w.fail(err)
	}
}

func (w *World) requestEvent(event udat.Event) {
	p, op, value := w.parseCookie(event.Cookie)
	err := event.Err()
	if op == opRead {
		p.done(value)
		err = p.readDone(err)
	}
	if event.EP() != p.ep {
		return // of one that was given up for another
	}
	if err == nil {
		switch op {
		case opSend:
			p.sent(value)
			w.pumpAll()
		case opWrite:
			p.done(value)
			err = p.pump()
		}
	}
	if p.link == parted {
		return // the peer was first to end the connection
	}
	// The event of the end of a connection, or of its failure, says more than those of what was flushed.
	if err != nil && !errors.Is(err, udat.DTOErrFlushed) {
		p.lose(err)
	}
}

// pumpAll lets all peers make use of a slot that is free again.
func (w *World) pumpAll() {
	for _, p := range w.linked {
		if len(p.queue) > 0 || len(p.acks) > 0 {
			if err := p.pump(); err != nil {
				p.lose(err)
			}
		}
	}
}

func (w *World) connectionEvent(event udat.Event) {
	context, _ := udat.GetConsumerContext(event.EP()) // its only error is that there is none
	p, _ := context.(*peer)
	if p == nil {
		return
	}
	if err := p.turn(event); err != nil {
		p.lose(err)
	}
	w.changed.Broadcast()
}

func (w *World) callEvent(event udat.Event) { w.answer(event.CR()) }

// await waits until something is true, or the world has ended. The caller holds
// mu, which it gives others in between.
func (w *World) await(something func() bool) error {
	w.entries++
	w.now = time.Now()
	for w.err == nil && !something() {
		if w.driven || w.ia == nil {
			w.changed.Wait() // for who drives; a rank alone waits for its own goroutines
			continue
		}
		w.driven = true
		w.drive(func() bool { return w.err != nil || something() })
		w.driven = false
		w.changed.Broadcast()
	}
	return w.err
}

// glance looks at everything once, unless somebody does anyway. The caller holds
// mu.
func (w *World) glance() {
	w.entries++
	if !w.driven && w.ia != nil && w.err == nil {
		w.now = time.Now()
		w.pollAll()
	}
}

// adapt decides how the rank waits. Where a host has more ranks than processors,
// who waits keeps others from sending what he waits for.
func (w *World) adapt(host string) {
	ranks := 0
	for _, c := range w.cards {
		if c.Host == host {
			ranks++
		}
	}
	switch processors := runtime.NumCPU(); {
	case ranks <= processors:
		w.spin, w.attention, w.nap = 200*time.Microsecond, 100*time.Microsecond, shortestNap
	case processors > 1:
		w.crowded = true
		w.spin, w.attention, w.nap = 20*time.Microsecond, 0, longestNap
	default:
		w.crowded = true
		w.spin, w.attention, w.nap = 0, 0, longestNap
	}
}

// spinTurns is after how many turns in vain the clock is looked at, and others get
// a chance.
const spinTurns = 16

// drive makes progress until something is true.
func (w *World) drive(something func() bool) {
	var began time.Time
	for turns := 0; ; {
		if w.poll() {
			turns = 0
			began = time.Time{}
			if something() {
				return
			}
			continue
		}
		if turns++; turns%spinTurns != 0 && w.spin > 0 {
			continue
		}
		w.now = time.Now()
		if began.IsZero() {
			began = w.now
		}
		if w.spin > 0 {
			w.mu.Unlock()
			w.yield()
			w.mu.Lock()
			if something() {
				return
			}
		}
		if w.now.Sub(began) < w.spin {
			continue
		}
		w.sleep(&w.wake, something)
		if something() {
			return
		}
		turns, began = 0, time.Time{}
	}
}

const (
	// shortestNap and longestNap bound how long one sleeps before he looks at the
	// rings by himself. In between it is an eighth of what was slept before, so that
	// a message that came without an event is late by an eighth at the most.
	shortestNap = time.Millisecond
	longestNap  = 20 * time.Millisecond
)

// sleep waits for events until something has come. The caller holds mu, which is
// free meanwhile. wake, if not nil, is set to what ends a nap.
func (w *World) sleep(wake *context.CancelFunc, something func() bool) {
	began := time.Now()
	for {
		nap := min(max(w.nap, time.Since(began)/8), longestNap)
		ctx, cancel := context.WithTimeout(w.running, nap)
		if wake != nil {
			*wake = cancel
		}
		w.mu.Unlock()
		_, err := w.cno.Wait(ctx)
		w.mu.Lock()
		if wake != nil {
			*wake = nil
		}
		nothing := err != nil
		if nothing && ctx.Err() == nil {
			w.fail(err)
		}
		cancel()
		w.stats.Sleeps++
		if nothing {
			w.stats.Naps++
		}
		w.now = time.Now()
		news := w.pollAll()
		if news && nothing {
			w.stats.Late++
		}
		if news || something() || w.running.Err() != nil {
			return
		}
	}
}

// stir ends the sleep of who waits: what he waits for may have happened without
// an event.
func (w *World) stir() {
	if w.wake != nil {
		w.wake()
	}
	w.changed.Broadcast()
}

// yield lets other goroutines run, and other ranks where there are more of them
// than processors.
func (w *World) yield() {
	runtime.Gosched()
	if w.crowded {
		osYield()
	}
}

// tend makes progress while the program computes.
func (w *World) tend() {
	defer w.work.Done()
	const (
		tick = 2 * time.Millisecond
		rest = 20 * time.Millisecond
	)
	pause := tick
	var entries uint64
	for {
		select {
		case <-w.running.Done():
			return
		case <-time.After(pause):
		}
		w.mu.Lock()
		if w.driven || w.entries != entries {
			entries = w.entries
			pause = rest
			if !w.driven && w.pending > 0 {
				pause = tick
			}
			w.mu.Unlock()
			continue
		}
		w.now = time.Now()
		w.pollAll()
		w.sleep(nil, func() bool { return w.driven || w.entries != entries })
		w.mu.Unlock()
		pause = tick
	}
}
