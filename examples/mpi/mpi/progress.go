package mpi

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/goudat/goudat/udat"
)

// Whoever waits makes progress himself: he looks at the rings, and now and then at
// the event dispatchers, and in between lets others have the processor. After a
// while in vain he tells the peers that he sleeps, and does so until an event wakes
// him, which eager messages and the ends of operations make. What is written into
// a ring makes none, so that he also wakes by himself, the more rarely the longer
// it takes.
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
		p.done(op, value)
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
		case opWrite, opConfirm:
			p.done(op, value)
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
	for w.err == nil && !something() {
		if w.driven || w.ia == nil {
			w.rouse()
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
		w.pollAll()
	}
}

const (
	// spinTime is for how long one looks in vain before he sleeps. To fall asleep and
	// to be woken takes a tenth of it.
	spinTime = time.Millisecond
	// yieldLooks is after how many looks in vain at a ring others get the processor and
	// the lock: other ranks, where there are more of them than processors, and the
	// kernel's threads that play the adapter. That is some 15 µs: a message between
	// ranks that both look comes sooner, and to yield can cost as much.
	yieldLooks = 1024
	// longestRun is half of the time after which Go's runtime interrupts a goroutine,
	// and becomes attentive itself, at the cost of the others.
	longestRun = 5 * time.Millisecond
)

// drive makes progress until something is true.
func (w *World) drive(something func() bool) {
	var began time.Time
	for looks := 0; ; {
		if w.turn%slowTurns == 0 {
			w.giveWay()
		}
		if w.poll() {
			if something() {
				return
			}
			looks, began = 0, time.Time{}
			continue
		}
		if looks += 2 + len(w.linked); looks < yieldLooks {
			continue
		}
		looks = 0
		w.mu.Unlock()
		yieldProcessor()
		w.mu.Lock()
		if something() {
			return
		}
		if began.IsZero() {
			began = time.Now()
		} else if time.Since(began) >= spinTime {
			w.sleep(&w.wake, something)
			if something() {
				return
			}
			began = time.Time{}
		}
	}
}

// giveWay lets other goroutines run, if it is time for that. It costs too much to
// be done each time, since Go's runtime then wakes another thread to look for work.
func (w *World) giveWay() {
	now := time.Now()
	if now.Sub(w.gaveWay) < longestRun {
		return
	}
	w.gaveWay = now
	w.mu.Unlock()
	runtime.Gosched()
	w.mu.Lock()
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
	for woken := true; ; {
		w.doze()
		news := w.pollAll() // a peer that believed this rank awake may have sent something
		if news && !woken {
			w.stats.Late++
		}
		if news || something() || w.running.Err() != nil {
			return
		}
		nap := min(max(shortestNap, time.Since(began)/8), longestNap)
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
		if err != nil && ctx.Err() == nil {
			w.fail(err)
		}
		woken = ctx.Err() != context.DeadlineExceeded
		cancel()
		w.stats.Sleeps++
		if !woken {
			w.stats.Naps++
		}
	}
}

// stir ends the sleep of who waits: what he waits for may have happened without
// an event.
func (w *World) stir() {
	w.rouse()
	w.changed.Broadcast()
}

// rouse ends the sleep of who waits.
func (w *World) rouse() {
	if w.wake != nil {
		w.wake()
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
		w.sleep(nil, func() bool { return w.driven || w.entries != entries })
		w.mu.Unlock()
		pause = tick
	}
}
