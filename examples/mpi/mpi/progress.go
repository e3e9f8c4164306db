package mpi

import (
	"context"
	"errors"
	"runtime"
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

// A goroutine that waits makes progress itself: it looks at the rings, and now and then at the event dispatchers, and
// lets others have the processor in between. If nothing arrives for a while, it tells the peers that it falls asleep,
// and sleeps until an event wakes it. Eager messages and completions make events. Messages in a ring make none, so it
// also wakes by itself, less often the longer it has slept.
//
// Another goroutine does the same for ranks that compute. It does nothing while the program is in calls.

const (
	// dispatchTurns is after how many looks at the rings to poll the event dispatchers for completions, and slowTurns
	// to poll those for connections. Polling one costs as much as looking at some dozens of rings.
	dispatchTurns = 32
	slowTurns     = 512
	// patientTurns is for how many turns to poll the shared receive queue each time after an eager message has
	// arrived.
	patientTurns = 64
)

// poll looks once for arrivals and events, and reports whether there was something. The caller holds mu.
func (w *World) poll() bool {
	w.turn++
	return w.look(w.turn%dispatchTurns == 0, w.turn%slowTurns == 0)
}

// pollAll looks at everything.
func (w *World) pollAll() bool { return w.look(true, true) }

// look looks at the rings, at the event dispatchers whose events are waited for, and, if told to, at those for
// completions and connections.
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
	if found {
		w.stir() // what other goroutines wait for may be a completion that ends no request
	}
	return found
}

// empty handles all events of an event dispatcher.
func (w *World) empty(evd *udat.EVD, take func(*World, udat.Event)) bool {
	// A handler may call empty again, which then needs another buffer.
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

// eagerEvent handles a completion of the shared receive queue. It ignores receives that were flushed: the world is
// about to end.
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
		return // of an endpoint that was given up for another
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
		return // the peer ended the connection first
	}
	// The event that ends the connection says more about the failure than a flushed operation.
	if err != nil && !errors.Is(err, udat.DTOErrFlushed) {
		p.lose(err)
	}
}

// pumpAll lets all peers use a slot that has become free.
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
	p := w.owners[event.EP()]
	if p == nil {
		return
	}
	if err := p.turn(event); err != nil {
		p.lose(err)
	}
	w.changed.Broadcast()
}

func (w *World) callEvent(event udat.Event) { w.answer(event.CR()) }

// await waits until something is true, or the world has ended. The caller holds mu; await unlocks it now and then.
func (w *World) await(something func() bool) error {
	w.entries++
	for w.err == nil && !something() {
		if w.driven || w.ia == nil {
			w.rouse()
			w.changed.Wait() // for the goroutine that drives; a single rank waits for its own goroutines
			continue
		}
		w.lead(something)
	}
	return w.err
}

// lead drives until something is true, or the world has ended.
func (w *World) lead(something func() bool) {
	w.driven = true
	w.drive(func() bool { return w.err != nil || something() })
	w.driven = false
	if w.driverLeft != nil {
		close(w.driverLeft)
		w.driverLeft = nil
	}
	w.changed.Broadcast()
}

// glance reports whether something is true, and looks at everything once if it is not, unless a goroutine that waits does
// so already. After some glances in vain it lets others have the processor: the program may glance in a loop, and what it
// wants needs other ranks, or the goroutine that drives.
func (w *World) glance(something func() bool) (found bool) {
	w.mu.Lock()
	w.entries++
	if found = something(); !found && !w.driven && w.ia != nil && w.err == nil {
		w.pollAll()
		found = something()
	}
	if w.vain++; found {
		w.vain = 0
	}
	rest := w.vain >= vainGlances
	if rest {
		w.vain = 0
	}
	w.mu.Unlock()
	if rest {
		runtime.Gosched()
		yieldProcessor()
	}
	return found
}

const (
	// spinTime is how long to look in vain before falling asleep. Falling asleep and waking takes a tenth of it.
	spinTime = time.Millisecond
	// yieldLooks is after how many looks in vain at a ring to yield the processor and the lock: to other ranks, if
	// there are more of them than processors, and to kernel threads that act as the adapter. That takes some 15 µs. A
	// message between two ranks that both look arrives sooner, and yielding can cost as much.
	yieldLooks = 1024
	// vainGlances is the same for glances, each of which takes as long as a hundred looks.
	vainGlances = 8
	// longestRun is half of the time after which Go's runtime interrupts a goroutine. Its monitor then runs more
	// often, which slows the others.
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

// giveWay lets other goroutines run, if it is time for that. It is too expensive to do each time, because Go's
// runtime then wakes another thread to look for work.
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
	// shortestNap and longestNap bound how long a rank sleeps before it looks at the rings by itself. In between, a
	// nap is half the time slept so far. A message comes without an event if its sender did not know yet that this
	// rank sleeps. That happens only shortly after it fell asleep, so the next nap is short as well. If many ranks
	// share a processor, each nap takes it from the others.
	shortestNap = time.Millisecond
	longestNap  = time.Second
)

// sleep waits for events until something is true, or has arrived. The caller holds mu; it is unlocked while asleep.
// wake, if not nil, is set to a function that ends a nap.
func (w *World) sleep(wake *context.CancelFunc, something func() bool) {
	began := time.Now()
	for {
		w.doze()
		// A peer that took this rank to be awake may have sent something.
		if w.pollAll() || something() || w.running.Err() != nil {
			return
		}
		nap := min(max(shortestNap, time.Since(began)/2), longestNap)
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
		cancel()
		w.stats.Sleeps++
	}
}

// stir wakes the goroutines that wait: what they wait for may have happened without an event.
func (w *World) stir() {
	w.rouse()
	w.changed.Broadcast()
}

// rouse ends the sleep of the goroutine that drives.
func (w *World) rouse() {
	if w.wake != nil {
		w.wake()
	}
}

// awaitDriver returns at once unless a goroutine that drives is asleep. Then it blocks until that goroutine has what it
// waits for. It returns false when the world has ended. The caller holds mu, which awaitDriver unlocks while it blocks.
func (w *World) awaitDriver() bool {
	if w.wake == nil {
		return true
	}
	if w.driverLeft == nil {
		w.driverLeft = make(chan struct{})
	}
	left := w.driverLeft
	w.mu.Unlock()
	defer w.mu.Lock()
	select {
	case <-left:
		return true
	case <-w.running.Done():
		return false
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
	look := func() (more bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.awaitDriver() {
			return false
		}
		if w.driven || w.entries != entries {
			entries = w.entries
			pause = rest
			if !w.driven && w.pending > 0 {
				pause = tick
			}
			return true
		}
		w.sleep(nil, func() bool { return w.driven || w.entries != entries })
		pause = tick
		return true
	}
	for {
		select {
		case <-w.running.Done():
			return
		case <-time.After(pause):
		}
		if !look() {
			return
		}
	}
}

// A message in a ring makes no event, and does not wake a rank that sleeps. So a rank that falls asleep says so in
// its lines, and the peers send it eager messages until they receive from it again. A message may be on its way into
// the ring at that moment: its sender, which sees that it was not read, sends an eager one after it.
//
// One case remains: the sender no longer looks when it is told, because it sleeps or computes itself. That is why
// naps end by themselves.

// doze is what a line says about the sleep of its rank.
type doze struct {
	asleep bool
	// sent is how many messages the rank had sent to the peer when it fell asleep. Once it has sent one more, it is
	// awake.
	sent uint32
}

// doze tells the peers that this rank falls asleep, unless they know. A peer whose endpoint has no room for that is
// told at the end of a nap.
func (w *World) doze() {
	for _, p := range w.linked {
		now := doze{asleep: true, sent: p.messagesOut}
		if p.line.notice != 0 || p.line.doze == now || p.link != connected || p.outstanding() >= w.depth {
			continue
		}
		p.line.doze = now
		if err := p.tellLine(p.signal()); err != nil {
			p.lose(err)
		}
	}
}

// goesOut counts a message to the peer, which then takes this rank to be awake. It wakes a goroutine that sleeps
// here, which tells the peer again.
func (p *peer) goesOut() {
	p.messagesOut++
	p.world.rouse()
}

// asleep reports whether the peer was asleep according to what it sent last.
func (p *peer) asleep() bool { return p.doze.asleep && !later(p.messagesIn, p.doze.sent) }

// ways are how short messages are sent. Tests set them.
type ways int

const (
	fitting  ways = iota
	byRings       // through rings, also to peers that sleep
	byEvents      // as eager messages, also to peers that are awake
)

// wantsEvent reports whether a message to the peer has to wake it.
func (p *peer) wantsEvent() bool {
	switch p.world.ways {
	case byRings:
		return false
	case byEvents:
		return true
	}
	return p.asleep()
}

// wakeUp wakes a peer that has fallen asleep while a message was on its way into its ring.
func (p *peer) wakeUp() error {
	if p.woken || !p.asleep() || p.out.written == p.out.consumed || p.farewell != staying {
		return nil // nothing is sent to a peer that was asked to disconnect
	}
	_, err := p.sendEager(&header{kind: wakeMessage}, nil)
	return err
}

// yieldProcessor lets another process run. Go's runtime does not know of the call: moving this thread's work to
// another thread would cost more than the call.
func yieldProcessor() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
