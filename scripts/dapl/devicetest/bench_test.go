package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// The cost of a crossing into C, without a network: 64 events of one queue are taken with one crossing each, or all in
// a loop in C. BenchmarkSoftwareEvents in package udat does the same through the API.
func BenchmarkTaking(b *testing.B) {
	for name, take := range map[string]func(q queue, events []cgo.Event) cgo.Return{
		"one at a time": func(q queue, events []cgo.Event) (r cgo.Return) {
			for i := range events {
				if r = cgo.EVDDequeue(q.EVDHandle, &events[i]); !r.OK() {
					break
				}
			}
			return r
		},
		"in a loop in C": func(q queue, events []cgo.Event) cgo.Return {
			_, r := cgo.EVDDequeueBatch(q.EVDHandle, events)
			return r
		},
	} {
		b.Run(name, func(b *testing.B) {
			for _, adapterName := range udattest.Names(b) {
				b.Run(adapterName, func(b *testing.B) {
					q := openAdapter(b, adapterName).newQueue(b, cgo.EVDSoftware)
					events := make([]cgo.Event, queueLength)
					for b.Loop() {
						b.StopTimer()
						for i := range uint64(queueLength) {
							success(b, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, i))
						}
						b.StartTimer()
						success(b, "taking events", take(q, events))
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/queueLength, "ns/event")
				})
			}
		})
	}
}

// BenchmarkGetStatus measures a crossing that does next to nothing in C.
func BenchmarkGetStatus(b *testing.B) {
	for _, name := range udattest.Names(b) {
		b.Run(name, func(b *testing.B) {
			ep := openAdapter(b, name).newEndpoint(b)
			for b.Loop() {
				_, _, _, r := cgo.EPGetStatus(ep.EPHandle)
				success(b, "EPGetStatus", r)
			}
		})
	}
}
