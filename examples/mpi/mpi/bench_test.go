package mpi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/pmi"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// worlds starts the ranks of a job in this process, and closes them at the end.
func worlds(t testing.TB, adapter string, n int) []*World {
	t.Helper()
	made, _ := startWorlds(t, adapter, n)
	failures := make(chan error, n)
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

// startWorlds starts the ranks of a job in this process. The server is their launcher.
func startWorlds(t testing.TB, adapter string, n int) ([]*World, *pmi.Server) {
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
	return made, server
}

// turns lets one goroutine do all the work of two ranks: it looks for arrivals at both in turn. So the result has the
// cost of a message without the cost of two processes disturbing each other.
func turns(t testing.TB, a, b *World, done func() bool) {
	began := time.Now()
	for n := 0; !done(); n++ {
		for _, w := range []*World{a, b} {
			w.mu.Lock()
			w.poll()
			w.mu.Unlock()
		}
		if n%100000 == 99999 && time.Since(began) > patience {
			t.Fatal("no message arrives")
		}
	}
}

// BenchmarkRoundTrip sends a message there and back in one goroutine: with udat by send and receive, by writing to
// memory that is polled, and by reading; then as short, middle and long messages. The minimum is useful on a busy
// machine.
func BenchmarkRoundTrip(b *testing.B) {
	for _, adapter := range udattest.Names(b) {
		for _, size := range []int{8, 512, 4096, 65536, 1 << 20} {
			for _, way := range []struct {
				name string
				run  func(b *testing.B, adapter string, size int)
			}{{"send", sendRoundTrip}, {"write", writeRoundTrip}, {"read", readRoundTrip}, {"mpi", messageRoundTrip}} {
				b.Run(fmt.Sprintf("%s/%d/%s", adapter, size, way.name), func(b *testing.B) { way.run(b, adapter, size) })
			}
		}
	}
}

// repeat runs a round trip b.N times, and reports the median and the minimum of the times.
func repeat(b *testing.B, step func(from, to int)) {
	b.Helper()
	const together = 4 // reading the clock costs a tenth of a short message on some kernels
	for range together {
		step(0, 1)
		step(1, 0)
	}
	var took []time.Duration
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += together {
		n := min(together, b.N-done)
		began := time.Now()
		for range n {
			step(0, 1)
			step(1, 0)
		}
		took = append(took, time.Since(began)/time.Duration(n))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e3, "median-us/op")
	b.ReportMetric(float64(took[0])/1e3, "least-us/op")
}

func messageRoundTrip(b *testing.B, adapter string, size int) {
	pair := worlds(b, adapter, 2)
	for _, w := range pair {
		w.mu.Lock()
		w.ways = byRings // as between ranks that wait
		w.mu.Unlock()
	}
	out, in := make([]byte, size), make([]byte, size)
	repeat(b, func(from, to int) {
		incoming := Irecv(pair[to].Comm, in, from, 0)
		outgoing := Isend(pair[from].Comm, out, to, 0)
		turns(b, pair[0], pair[1], func() bool { return incoming.done && outgoing.done })
		if err := errors.Join(incoming.err, outgoing.err); err != nil {
			b.Fatal(err)
		}
	})
}

// endpoints returns two connected endpoints, with memory of twice the size.
func endpoints(b *testing.B, adapter string, size int) [2]*udattest.Endpoint {
	b.Helper()
	ia := udattest.Open(b, adapter)
	options := udattest.Options{MemorySize: 2 * size}
	pair := [2]*udattest.Endpoint{options.NewEndpoint(b, ia), options.NewEndpoint(b, ia)}
	udattest.ConnectPair(b, udattest.Listen(b, ia), pair[0], pair[1])
	return pair
}

// taken polls for a completion.
func taken(b *testing.B, evd *udat.EVD) {
	var events [4]udat.Event
	for {
		n, err := evd.Poll(events[:])
		if err != nil || n > 0 && events[0].Err() != nil {
			b.Fatal(err, events[0].Err())
		}
		if n > 0 {
			return
		}
	}
}

func sendRoundTrip(b *testing.B, adapter string, size int) {
	pair := endpoints(b, adapter, size)
	repeat(b, func(from, to int) {
		if err := errors.Join(
			pair[to].PostRecv([]udat.Segment{pair[to].Segment(b, size, size)}, 1, 0),
			pair[from].PostSend([]udat.Segment{pair[from].Segment(b, 0, size)}, 2, 0),
		); err != nil {
			b.Fatal(err)
		}
		taken(b, pair[to].Recv)
		taken(b, pair[from].Request)
	})
}

// writeRoundTrip polls the last byte that is written.
func writeRoundTrip(b *testing.B, adapter string, size int) {
	pair := endpoints(b, adapter, size)
	count := byte(0)
	repeat(b, func(from, to int) {
		count++
		pair[from].Memory.Bytes()[size-1] = count
		remote, err := pair[to].Memory.RMRTriplet(size, size)
		if err != nil {
			b.Fatal(err)
		}
		last, err := mem.PeerByteAt(pair[to].Memory, 2*size-1)
		if err != nil {
			b.Fatal(err)
		}
		flags := udat.CompletionSuppress
		if count%8 == 0 {
			flags = 0 // completes those before it, too
		}
		if err := pair[from].PostRDMAWrite([]udat.Segment{pair[from].Segment(b, 0, size)}, 1, remote, flags); err != nil {
			b.Fatal(err)
		}
		for last.Load() != count {
			continue
		}
		if flags == 0 {
			taken(b, pair[from].Request)
		}
	})
}

func readRoundTrip(b *testing.B, adapter string, size int) {
	pair := endpoints(b, adapter, size)
	repeat(b, func(from, to int) {
		remote, err := pair[from].Memory.RMRTriplet(0, size)
		if err != nil {
			b.Fatal(err)
		}
		if err := pair[to].PostRDMARead([]udat.Segment{pair[to].Segment(b, size, size)}, 1, remote, 0); err != nil {
			b.Fatal(err)
		}
		taken(b, pair[to].Request)
	})
}
