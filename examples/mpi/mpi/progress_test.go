package mpi

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

func (w *World) fallAsleep() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doze()
}

// Messages to a rank that has said that it sleeps make events, until it has sent something again.
func TestMessagesToSleeper(t *testing.T) {
	onAdapters(t, func(t *testing.T, adapter string) {
		a, b := pair(t, adapter)
		for _, test := range []struct {
			name         string
			before       func()
			short, eager uint64
		}{
			{"awake", func() { deliver(t, b, a) }, 1, 0},
			{"asleep", func() {
				b.fallAsleep()
				until(t, a, a.peers[1].asleep)
			}, 0, 1},
			{"awake again", func() { deliver(t, b, a) }, 1, 0},
		} {
			test.before()
			before := a.Stats()
			deliver(t, a, b)
			if now := a.Stats(); now.Short != before.Short+test.short || now.Eager != before.Eager+test.eager {
				t.Errorf("to a rank that is %s: %+v, before %+v", test.name, now, before)
			}
		}
	})
}

// A rank that falls asleep while a message is on its way into its ring is woken once.
func TestMessageCrossesSleep(t *testing.T) {
	onAdapters(t, func(t *testing.T, adapter string) {
		a, b := pair(t, adapter)
		deliver(t, b, a)
		before := a.Stats()
		incoming := Irecv(b.Comm, make([]int, 1), 0, 0)
		if _, done, err := Isend(a.Comm, []int{1}, 1, 0).Test(); !done || err != nil || a.Stats().Short != before.Short+1 {
			t.Fatalf("the message did not go into the ring: %v, %v, %+v, before %+v", done, err, a.Stats(), before)
		}
		b.fallAsleep()
		until(t, a, func() bool { return a.stats.Eager > before.Eager })
		until(t, b, func() bool { return incoming.done })
		for range 100 {
			b.fallAsleep()
			until(t, a, a.peers[1].asleep)
		}
		// Nothing wakes it while it has read everything.
		deliver(t, b, a)
		b.fallAsleep()
		until(t, a, a.peers[1].asleep)
		if now := a.Stats(); now.Eager != before.Eager+1 {
			t.Errorf("it was woken %d times", now.Eager-before.Eager)
		}
	})
}

// The peer takes a rank that sends to be awake. So if another of its goroutines sleeps, sending wakes that goroutine.
func TestSendWakesSleeper(t *testing.T) {
	onAdapters(t, func(t *testing.T, adapter string) {
		a, b := pair(t, adapter)
		deliver(t, b, a)
		roused := false
		a.mu.Lock()
		a.wake = func() { roused = true }
		a.mu.Unlock()
		_, done, err := Isend(a.Comm, []int{1}, 1, 0).Test()
		a.mu.Lock()
		a.wake = nil
		a.mu.Unlock()
		if !done || err != nil || !roused {
			t.Errorf("the send is done: %v, %v; the sleeper is awake: %v", done, err, roused)
		}
		until(t, b, func() bool {
			_, there := b.probe(0, 0)
			return there
		})
	})
}

// A rank that waits long leaves the processor to others: it sleeps, and wakes to look by itself less and less often. The
// goroutine that makes progress for a rank that computes does not wake at all.
func TestLongWait(t *testing.T) { runRanks(t, 2, "long wait") }

func longWait(w *World) error {
	const (
		wait       = 2 * time.Second
		mostSleeps = 40      // a rank needs about 20: each is half as long as all before it together
		mostTurns  = 100_000 // before it first sleeps
	)
	check(Barrier(w.Comm))
	if w.Rank() == 0 {
		time.Sleep(wait) // is what the other waits for
		return Send(w.Comm, []int{1}, 1, 0)
	}
	resting := make(chan error, 1)
	go func() {
		resting <- w.awaitState(func() bool { return w.driverLeft != nil })
	}()
	efforts := func() (sleeps, turns uint64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.stats.Sleeps, uint64(w.turn)
	}
	sleepsBefore, turnsBefore := efforts()
	must(Recv(w.Comm, []int{0}, 0, 0))
	sleeps, turns := efforts()
	if sleeps -= sleepsBefore; sleeps > mostSleeps || turns-turnsBefore > mostTurns {
		return fmt.Errorf("in a wait of %v the rank has looked %d times, and slept %d times; want at most %d and %d", wait, turns-turnsBefore, sleeps, mostTurns, mostSleeps)
	}
	select {
	case err := <-resting:
		return err
	default:
		return errors.New("the goroutine for ranks that compute wakes while another one drives")
	}
}

// A program that calls Test or Iprobe in a loop leaves the processor to the others: more ranks than processors, or a
// goroutine of the same rank that waits.
func TestGlancing(t *testing.T) { runRanks(t, 4, "glancing") }

// mostGlances is how many calls a message may take on average. It takes up to 200. If they do not let others run, it takes
// thousands.
const mostGlances = 1000

func glancing(w *World) error {
	const rounds = 60
	next, last := (w.Rank()+1)%w.Size(), (w.Rank()-1+w.Size())%w.Size()
	test := func(r *Request) (bool, error) { _, done, err := r.Test(); return done, err }
	probe := func(r *Request) (bool, error) {
		_, _, err := Iprobe(w.Comm, AnySource, 1)
		w.mu.Lock()
		defer w.mu.Unlock()
		return r.done, err
	}
	for name, glance := range []func(r *Request) (bool, error){test, probe} {
		glances := 0
		for range rounds {
			r := Irecv(w.Comm, []int{0}, next, 0)
			check(Send(w.Comm, []int{1}, last, 0))
			for !must(glance(r)) {
				glances++
			}
		}
		if glances > rounds*mostGlances {
			return fmt.Errorf("%s in a loop: %d calls for %d messages", []string{"Test", "Iprobe"}[name], glances, rounds)
		}
		check(Barrier(w.Comm))
	}
	// One goroutine in collective operations, and another that glances.
	over := make(chan error, 1)
	r := Irecv(w.Comm, []int{0}, w.Rank(), 2)
	var glances atomic.Int64
	go func() {
		for ; ; glances.Add(1) {
			if done, err := test(r); done || err != nil {
				over <- err
				return
			}
		}
	}()
	for range rounds {
		check(Barrier(w.Comm))
	}
	if n := int(glances.Load()); n > rounds*mostGlances {
		return fmt.Errorf("beside %d calls of Test: %d barriers", n, rounds)
	}
	return errors.Join(Send(w.Comm, []int{1}, w.Rank(), 2), <-over)
}
