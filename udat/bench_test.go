package udat_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Benchmarks of the calls of the data path, in the form that benchstat reads:
//
//	go test -run '^$' -bench . -exec "$PWD/scripts/testbed" ./udat
//
// Those of events and of the status transfer nothing: they are what the binding costs by itself. The benchmarks of
// scripts/dapl/devicetest have the same calls without what udat does around them, and in a loop in C.

// forEachIA runs a benchmark on each adapter.
func forEachIA(b *testing.B, benchmark func(b *testing.B, ia *udat.IA)) {
	for _, name := range udattest.Names(b) {
		b.Run(name, func(b *testing.B) { benchmark(b, udattest.Open(b, name)) })
	}
}

func BenchmarkGetStatus(b *testing.B) {
	forEachIA(b, func(b *testing.B, ia *udat.IA) {
		ep := udattest.NewEndpoint(b, ia, nil)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ep.GetStatus(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkEmpty looks for an event where there is none.
func BenchmarkEmpty(b *testing.B) {
	events := make([]udat.Event, 64)
	for name, look := range map[string]func(evd *udat.EVD) error{
		"Dequeue": func(evd *udat.EVD) error {
			if _, err := evd.Dequeue(); !errors.Is(err, udat.ErrQueueEmpty) {
				return err
			}
			return nil
		},
		"Poll":     func(evd *udat.EVD) error { return second(evd.Poll(events)) },
		"SpinPoll": func(evd *udat.EVD) error { return second(evd.SpinPoll(events, time.Nanosecond)) },
	} {
		b.Run(name, func(b *testing.B) {
			forEachIA(b, func(b *testing.B, ia *udat.IA) {
				e := udattest.NewEndpoint(b, ia, nil)
				b.ReportAllocs()
				for b.Loop() {
					if err := look(e.Recv); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkSoftwareEvents posts 64 software events and takes them: all at once, or each alone.
func BenchmarkSoftwareEvents(b *testing.B) {
	const n = 64
	events := make([]udat.Event, n)
	ctx := context.Background()
	for name, take := range map[string]func(evd *udat.EVD) (int, error){
		"Poll":      func(evd *udat.EVD) (int, error) { return evd.Poll(events) },
		"SpinPoll":  func(evd *udat.EVD) (int, error) { return evd.SpinPoll(events, time.Millisecond) },
		"WaitBatch": func(evd *udat.EVD) (int, error) { return evd.WaitBatch(ctx, events, 1) },
		"Dequeue":   func(evd *udat.EVD) (int, error) { return 1, second(evd.Dequeue()) },
		"Wait":      func(evd *udat.EVD) (int, error) { return 1, second(evd.Wait(ctx)) },
	} {
		b.Run(name, func(b *testing.B) {
			forEachIA(b, func(b *testing.B, ia *udat.IA) {
				evd, err := udat.CreateEVD(ia, n, udat.EVDSoftware)
				if err != nil {
					b.Fatal(err)
				}
				defer evd.Free()
				b.ReportAllocs()
				for b.Loop() {
					for i := range uint64(n) {
						if err := evd.PostSE(i); err != nil {
							b.Fatal(err)
						}
					}
					for taken := 0; taken < n; {
						more, err := take(evd)
						if err != nil {
							b.Fatal(err)
						}
						taken += more
					}
				}
			})
		})
	}
}

// BenchmarkTransfer posts requests of 8 bytes and takes their completions.
func BenchmarkTransfer(b *testing.B) {
	const n = 16
	for name, post := range map[string]func(active, passive *udattest.Endpoint, batch []udat.Post) error{
		"PostRDMAWrite": func(active, _ *udattest.Endpoint, batch []udat.Post) error {
			for i := range batch {
				if err := active.PostRDMAWrite(batch[i].Segments, 0, batch[i].Remote, 0); err != nil {
					return err
				}
			}
			return nil
		},
		"PostBatch": func(active, _ *udattest.Endpoint, batch []udat.Post) error {
			return second(active.PostBatch(batch))
		},
	} {
		b.Run(name, func(b *testing.B) {
			forEachIA(b, func(b *testing.B, ia *udat.IA) {
				active, passive := udattest.Pair(b, ia, nil)
				remote, err := passive.Memory.RMRTriplet(0, 8)
				if err != nil {
					b.Fatal(err)
				}
				batch := make([]udat.Post, n)
				for i := range batch {
					batch[i] = udat.Post{Operation: udat.DTORDMAWrite, Segments: one(active.Segment(b, 0, 8)), Remote: remote}
				}
				events := make([]udat.Event, n)
				b.ReportAllocs()
				for b.Loop() {
					if err := post(active, passive, batch); err != nil {
						b.Fatal(err)
					}
					for taken := 0; taken < n; {
						more, err := active.Request.SpinPoll(events, time.Millisecond)
						if err != nil {
							b.Fatal(err)
						}
						for i := range more {
							if err := events[i].Err(); err != nil {
								b.Fatal(err)
							}
						}
						taken += more
					}
				}
			})
		})
	}
}
