package mpi

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/pmi"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// worlds makes the ranks of a job in this process.
func worlds(t testing.TB, adapter string, n int) []*World {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	server := pmi.NewServer("test", n, nil)
	t.Cleanup(server.Close)
	made := make([]*World, n)
	failures := make(chan error, n)
	for rank := range n {
		line, err := server.Join(ctx, rank)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			var err error
			made[rank], err = initialize(ctx, line, Options{Adapter: adapter})
			failures <- err
		}()
	}
	for range n {
		if err := <-failures; err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, w := range made {
			go func() { failures <- w.Close() }()
		}
		for range n {
			if err := <-failures; err != nil {
				t.Error(err)
			}
		}
	})
	return made
}

// turns lets one goroutine do all that two ranks do: it looks for news at both by
// turns. So what a message costs is seen without what two processes cost each
// other.
func turns(t testing.TB, a, b *World, done func() bool) {
	began := time.Now()
	for n := 0; !done(); n++ {
		for _, w := range []*World{a, b} {
			w.mu.Lock()
			w.poll()
			w.mu.Unlock()
		}
		if n%100000 == 99999 && time.Since(began) > patience {
			t.Fatal("no message comes")
		}
	}
}

// BenchmarkRoundTrip sends a message there and back, in one goroutine: once as
// sends and receives of udat, and then as messages that are short, or of middle
// length, or long.
func BenchmarkRoundTrip(b *testing.B) {
	for _, adapter := range udattest.Names(b) {
		for _, size := range []int{8, 512, 4096, 65536, 1 << 20} {
			b.Run(fmt.Sprintf("%s/udat/%d", adapter, size), func(b *testing.B) { nativeRoundTrip(b, adapter, size) })
			b.Run(fmt.Sprintf("%s/mpi/%d", adapter, size), func(b *testing.B) { roundTrip(b, adapter, size) })
		}
	}
}

func roundTrip(b *testing.B, adapter string, size int) {
	pair := worlds(b, adapter, 2)
	for _, w := range pair {
		w.mu.Lock()
		w.attention = time.Hour // messages go through the ring, as they do between ranks that wait
		w.mu.Unlock()
	}
	out, in := make([]byte, size), make([]byte, size)
	step := func(from, to int) {
		incoming := Irecv(pair[to].Comm, in, from, 0)
		outgoing := Isend(pair[from].Comm, out, to, 0)
		turns(b, pair[0], pair[1], func() bool { return incoming.done && outgoing.done })
		if err := errors.Join(incoming.err, outgoing.err); err != nil {
			b.Fatal(err)
		}
	}
	for range 10 {
		step(0, 1)
		step(1, 0)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		step(0, 1)
		step(1, 0)
	}
}

func nativeRoundTrip(b *testing.B, adapter string, size int) {
	ia := udattest.Open(b, adapter)
	options := udattest.Options{MemorySize: 2 * size}
	a, c := options.NewEndpoint(b, ia), options.NewEndpoint(b, ia)
	udattest.ConnectPair(b, udattest.Listen(b, ia), a, c)
	step := func(from, to *udattest.Endpoint) {
		if err := errors.Join(
			to.PostRecv([]udat.Segment{to.Segment(b, size, size)}, 1, 0),
			from.PostSend([]udat.Segment{from.Segment(b, 0, size)}, 2, 0),
		); err != nil {
			b.Fatal(err)
		}
		var events [4]udat.Event
		for sent, received := false, false; !sent || !received; {
			if n, err := to.Recv.Poll(events[:]); err != nil || n > 0 && events[0].Err() != nil {
				b.Fatal(err)
			} else if n > 0 {
				received = true
			}
			if n, err := from.Request.Poll(events[:]); err != nil || n > 0 && events[0].Err() != nil {
				b.Fatal(err)
			} else if n > 0 {
				sent = true
			}
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		step(a, c)
		step(c, a)
	}
}
