package stream

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// await waits until a condition holds that nobody tells of.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(udattest.Patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// The memory of connections that are over serves new ones, empty, and more than a few is given back.
func TestMemory(t *testing.T) {
	eachListener(t, func(t *testing.T, a *Adapter, l *Listener) {
		idle := func() int {
			a.mu.Lock()
			defer a.mu.Unlock()
			return len(a.idle)
		}
		living := func() int { return a.ia.Stats().Living["memory region"] }
		for range 3 {
			c, other := connect(t, a, l)
			want(t, second(c.Write(bytes.Repeat([]byte{1}, int(standard.mostShort())+1))))
			want(t, second(io.ReadFull(other, bytes.Repeat([]byte{1}, 100))))
			_, _ = c.Close(), other.Close()
			await(t, "the memory was not given back", func() bool { return idle() == 2 })
		}
		if n := living(); n != 4 {
			t.Errorf("of connections that came one after the other %d regions are left", n)
		}
		for _, m := range a.idle {
			if !bytes.Equal(m.ringBytes, make([]byte, len(m.ringBytes))) {
				t.Error("what a peer has written is left for the next one")
			}
		}
		var conns []*Conn
		for range mostIdle/2 + 1 {
			x, y := connect(t, a, l)
			conns = append(conns, x, y)
		}
		for _, c := range conns {
			_ = c.Close()
		}
		await(t, "too much memory is kept", func() bool { return idle() == mostIdle && living() == 2*mostIdle })
	})
}

// What has arrived can be read when the connection is over, and its memory is another's.
func TestReadAfterEnd(t *testing.T) {
	eachListener(t, func(t *testing.T, a *Adapter, l *Listener) {
		sent := bytes.Repeat([]byte("0123456789abcdef"), 8<<10)
		for _, length := range []int{100, len(sent)} {
			x, y := connect(t, a, l)
			want(t, second(x.Write(sent[:length])))
			want(t, x.Close())
			for _, c := range []*Conn{x, y} {
				await(t, "the memory was not given back", func() bool {
					c.mu.Lock()
					defer c.mu.Unlock()
					return c.users == 0
				})
			}
			a.mu.Lock()
			for _, m := range a.idle {
				for i := range m.buffers {
					clear(m.buffers[i])
				}
				clear(m.ending)
			}
			a.mu.Unlock()
			got, err := io.ReadAll(y)
			if err != nil || !bytes.Equal(got, sent[:length]) {
				t.Errorf("%d bytes of %d have arrived, and the error is %v", len(got), length, err)
			}
			y.open(y.local, y.remote) // as if it had ended before Accept
			_ = y.Close()
			a.mu.Lock()
			for _, m := range a.idle {
				if !bytes.Equal(m.ending, make([]byte, headerSize)) {
					t.Error("Close has used the memory of another")
				}
			}
			a.mu.Unlock()
		}
	})
}

// What had arrived when the connection ended can be read, also if nobody had taken its events by then.
func TestArrivedBeforeEnd(t *testing.T) {
	eachListener(t, func(t *testing.T, a *Adapter, l *Listener) {
		x, y := connect(t, a, l)
		const messages = 8 // y takes the first, and waits for its lock
		y.mu.Lock()
		for range messages {
			want(t, second(x.Write([]byte{1})))
			await(t, "the message does not arrive", func() bool {
				x.mu.Lock()
				defer x.mu.Unlock()
				return x.onTheirWay == 0
			})
		}
		want(t, x.Close())
		<-y.over.Done()
		y.mu.Unlock()
		if got, err := io.ReadAll(y); err != nil || len(got) != messages {
			t.Errorf("%d of %d messages can be read, and the error is %v", len(got), messages, err)
		}
		_ = y.Close()
	})
}

// When Close returns, what was written is in the peer's memory.
func TestCloseWaits(t *testing.T) {
	eachListener(t, func(t *testing.T, a *Adapter, l *Listener) {
		sent := bytes.Repeat([]byte("0123456789abcdef"), 25<<10)
		for range 10 {
			x, y := connect(t, a, l)
			y.begin(&y.reads) // as a call that keeps the memory
			y.mu.Unlock()
			want(t, second(x.Write(sent)))
			want(t, x.Close())
			y.mu.Lock()
			if n := bytes.Count(y.ringBytes, sent[:16]); n < len(sent)/16-int(standard.slots) { // those at the borders of messages are cut
				t.Errorf("%d bytes of %d have arrived", 16*n, len(sent))
			}
			y.leave(&y.reads)
			_ = y.Close()
		}
	})
}

// A stranger cannot reach the memory of another's connection, even if it knows the key.
func TestRingOfAnother(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			s, c := connectStranger(t, name)
			x, y := connect(t, c.adapter, s.listener)
			ring, err := y.ring.RMRTriplet(0, 8)
			want(t, err)
			want(t, s.PostRDMAWrite([]udat.Segment{s.Segment(t, 0, 8)}, 1, ring, 0))
			if event := udattest.Wait(t, s.Request); event.Err() == nil && !udattest.IWARP(t, s.IA) {
				t.Error("the write was allowed")
			}
			if event := udattest.Wait(t, s.Connect); event.Number != udat.EventConnectionBroken && event.Number != udat.EventConnectionDisconnected {
				t.Errorf("after the write came %v", event.Number)
			}
			if _, err := x.Write([]byte{1}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Small writes are gathered: they need far fewer messages than there are.
func TestGathering(t *testing.T) {
	const writes, length = 4000, 10
	eachListener(t, func(t *testing.T, a *Adapter, l *Listener) {
		x, y := connect(t, a, l)
		begin := a.ia.Stats().Posts
		read := make(chan error, 1)
		go func() {
			_, err := io.ReadFull(y, make([]byte, writes*length))
			read <- err
		}()
		for range writes {
			want(t, second(x.Write(make([]byte, length))))
		}
		if err := <-read; err != nil { // what was gathered at the end comes without another write
			t.Fatal(err)
		}
		posts := a.ia.Stats().Posts - begin
		if t.Logf("%d writes took %d posts", writes, posts); posts > writes {
			t.Errorf("%d writes took %d posts on both sides", writes, posts)
		}
	})
}

// A deadline is kept by the clock of the timer that ends its call, which nobody sets, whatever clock it was made by.
func TestDeadlineIsMonotonic(t *testing.T) {
	var k calls
	k.setDeadline(time.Now().Add(time.Hour).Round(0), func() {})
	defer k.timer.Stop()
	if k.deadline == k.deadline.Round(0) {
		t.Errorf("the deadline is %v, without a monotonic reading", k.deadline)
	}
}
