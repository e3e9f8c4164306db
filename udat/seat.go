package udat

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/goudat/goudat/udat/internal/lockorder"
)

// A seat is where a goroutine sleeps that waits alone on an EVD. The agent wakes it
// there at once, without the way over the notifier's goroutine. It is an eventfd,
// which Go's poller waits for, so that who sleeps in it holds no thread.
type seat struct {
	file    *os.File
	fd      int
	counter [8]byte

	// done is that of the context whose end wakes who sleeps here, nil for none. It
	// stays when the seat is free: to wait again with the same context costs nothing.
	done <-chan struct{}
	stop func() bool // ends that
}

// mostSeats bounds the files that an adapter keeps open for them. Who finds none
// is woken by the notifier's goroutine.
const mostSeats = 8

// seatsIdle is how long a seat is kept that nobody sits in.
const seatsIdle = time.Second

// seats are those of an adapter.
type seats struct {
	mu     lockorder.Mutex[lockorder.Last]
	free   []*seat
	idle   int         // how many of these have been free since the last look
	look   *time.Timer // the next, nil for none
	made   int
	closed bool
}

// take returns a seat that the end of the context wakes, nil if there is none.
func (s *seats) take(ctx context.Context) *seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 && !s.add() {
		return nil
	}
	last := len(s.free) - 1
	taken := s.free[last]
	s.free = s.free[:last]
	s.idle = min(s.idle, last)
	taken.follow(ctx)
	return taken
}

func (s *seats) add() bool {
	if s.closed || s.made == mostSeats {
		return false
	}
	file, fd, err := newEventFD()
	if err != nil {
		return false
	}
	s.made++
	s.free = append(s.free, &seat{file: file, fd: fd})
	return true
}

// put gives a seat back, in which no agent wakes anybody any more.
func (s *seats) put(seat *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		seat.close()
		return
	}
	s.free = append(s.free, seat)
	if s.look == nil {
		s.look = time.AfterFunc(seatsIdle, s.closeIdle)
	}
}

// closeIdle closes those seats that nobody has needed for long.
func (s *seats) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeFirst(s.idle)
	s.idle = len(s.free)
	if s.look = nil; s.idle > 0 {
		s.look = time.AfterFunc(seatsIdle, s.closeIdle)
	}
}

func (s *seats) closeFirst(n int) {
	for _, seat := range s.free[:n] {
		seat.close()
	}
	s.free = slices.Delete(s.free, 0, n)
	s.made -= n
}

func (s *seats) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.closeFirst(len(s.free))
	s.idle = 0
}

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

// sleep returns after a poke, which may have come before. There may be more
// reasons for one than the sleeper knows.
func (s *seat) sleep() { _, _ = s.file.Read(s.counter[:]) }

// anyCount is a number, in whatever byte order.
var anyCount = [8]byte{1}

// poke wakes who sleeps in the seat.
func (s *seat) poke() { _, _ = s.file.Write(anyCount[:]) }

func (s *seat) close() {
	if s.stop != nil {
		s.stop()
	}
	s.file.Close()
}
