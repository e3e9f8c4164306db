package mpi

import (
	"errors"

	"github.com/goudat/goudat/udat"
)

// progress takes the events of the adapter until the end. That a goroutine does
// it, and not the calls of the program, lets a rank that computes take messages,
// return credits and end transfers. It takes no thread while nothing happens.
func (w *World) progress() {
	defer w.work.Done()
	var events [4 * slotCount]udat.Event
	for {
		evd, err := w.cno.Wait(w.running)
		n := 0
		if err == nil {
			n, err = evd.Poll(events[:])
		}
		if w.running.Err() != nil {
			return
		}
		w.mu.Lock()
		for _, event := range events[:n] {
			w.handle(evd, event)
		}
		if err != nil {
			w.fail(err)
		}
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (w *World) handle(evd *udat.EVD, event udat.Event) {
	var p *peer
	var err error
	switch evd {
	case w.calls:
		w.answer(event.CR())
		return
	case w.connections:
		context, _ := udat.GetConsumerContext(event.EP()) // its only error is that there is none
		if p, _ = context.(*peer); p == nil {
			return
		}
		err = p.turn(event)
	case w.received:
		var slot int
		p, slot = w.parseCookie(event.Cookie)
		if event.EP() != p.ep {
			return // of one that was given up for another
		}
		if err = event.Err(); err == nil && w.err == nil {
			err = p.arrived(slot, event.Length)
		}
	case w.requested:
		var slot int
		p, slot = w.parseCookie(event.Cookie)
		err = event.Err()
		switch {
		case slot == cookieRead:
			err = p.readDone(err)
		case err == nil:
			err = p.sent(slot)
		}
	}
	// The event of the end of a connection, or of its failure, says more than those of what was flushed.
	if err != nil && !errors.Is(err, udat.DTOErrFlushed) {
		p.lose(err)
	}
	w.changed.Broadcast()
}

// hear notices the end of the launcher.
func (w *World) hear() {
	defer w.work.Done()
	select {
	case <-w.line.Gone():
	case <-w.running.Done():
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.left {
		w.fail(ErrLauncherGone)
	}
}
