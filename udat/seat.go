package udat

import (
	"context"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// A seat is an eventfd on which a goroutine sleeps if no other goroutine waits on the
// EVD. The agent writes to the eventfd, which wakes the goroutine directly, not by way of
// the notifier's goroutine. Events that come to a queue of the binding's own first would
// still take that way. So the agent of that queue writes to the seat, too, and the
// goroutine empties the queue.
//
// The goroutine blocks in the kernel, and holds its thread. A short sleep then leaves Go's
// scheduler alone. In Go's poller, each sleep that left the process idle stopped and
// started the runtime's monitor thread, and a round trip took twice as long.
type seat struct {
	file    *os.File
	fd      cgo.Seat
	counter [8]byte
	turn    turn

	// done is the channel of the context whose end wakes the goroutine, nil for none. A
	// free seat keeps it, so that waiting again with the same context costs nothing.
	done <-chan struct{}
	stop func() bool // stops watching the context
}

// mostSeats bounds the seats of an adapter, each of which is an open file, and holds a
// thread while a goroutine sleeps on it. The notifier's goroutine wakes a goroutine that
// has found no seat.
const mostSeats = 8

// seatsIdle is how long a seat must be free before it is closed.
const seatsIdle = time.Second

// seats holds the seats of an adapter.
type seats struct {
	mu     lockorder.Mutex[lockorder.Last]
	unused []*seat
	idle   int         // how many of these have been free since the last closeIdle
	look   *time.Timer // calls closeIdle, nil while there is nothing to close
	made   int         // seats that exist
	closed bool
}

// take returns a seat, and has the end of the context wake the goroutine on it. It
// returns nil if there is no free seat.
func (s *seats) take(ctx context.Context) *seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unused) == 0 && !s.add() {
		return nil
	}
	last := len(s.unused) - 1
	taken := s.unused[last]
	s.unused = s.unused[:last]
	s.idle = min(s.idle, last)
	taken.follow(ctx)
	return taken
}

func (s *seats) add() bool {
	if s.closed || s.made == mostSeats {
		return false
	}
	file, fd, err := newEventFD(true)
	if err != nil {
		return false
	}
	s.made++
	s.unused = append(s.unused, &seat{file: file, fd: cgo.Seat(fd)})
	return true
}

// put returns a seat, to which no agent may write any more.
func (s *seats) put(seat *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		seat.close()
		return
	}
	s.unused = append(s.unused, seat)
	if s.look == nil {
		s.look = time.AfterFunc(seatsIdle, s.closeIdle)
	}
}

// closeIdle closes the seats that have been free since it was last called.
func (s *seats) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeFirst(s.idle)
	s.idle = len(s.unused)
	if s.look = nil; s.idle > 0 {
		s.look = time.AfterFunc(seatsIdle, s.closeIdle)
	}
}

func (s *seats) closeFirst(n int) {
	for _, seat := range s.unused[:n] {
		seat.close()
	}
	s.unused = slices.Delete(s.unused, 0, n)
	s.made -= n
}

func (s *seats) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.closeFirst(len(s.unused))
	s.idle = 0
}

// follow has the end of the context wake the goroutine on the seat.
func (s *seat) follow(ctx context.Context) {
	if s.done == ctx.Done() {
		return
	}
	if s.stop != nil {
		s.stop()
	}
	s.done, s.stop = ctx.Done(), nil
	if s.done != nil {
		s.stop = context.AfterFunc(ctx, s.poke)
	}
}

// sleep blocks until the seat is poked, or was before. The reason may be one that the
// goroutine does not know. Sleeps are part of the goroutine's turn: while it is on one, the
// runtime sees it in a system call again and again.
func (s *seat) sleep() {
	if s.turn.over(nil) {
		runtime.Gosched()
	}
	_, _ = s.file.Read(s.counter[:])
}

// anyCount is a number other than 0 in any byte order.
var anyCount = [8]byte{1}

// poke wakes the goroutine that sleeps on the seat.
func (s *seat) poke() { _, _ = s.file.Write(anyCount[:]) }

func (s *seat) close() {
	if s.stop != nil {
		s.stop()
	}
	s.file.Close()
}
