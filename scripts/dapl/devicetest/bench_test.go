package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// The cost of a crossing into C, without a network: 64 events of one queue are taken with one crossing each, or all in
// a loop in C. BenchmarkCall in scripts/sidebyside/callcost does the same through the API.
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

// BenchmarkPostRecv measures what a post costs more on an EVD that counts its room, as another endpoint could have more
// receives outstanding than it holds. The post is refused, for too many segments, so that the device takes no part.
func BenchmarkPostRecv(b *testing.B) {
	for name, endpoints := range map[string]int{"room for all": 1, "room is counted": 2} {
		b.Run(name, func(b *testing.B) {
			for _, adapterName := range udattest.Names(b) {
				b.Run(adapterName, func(b *testing.B) {
					e := openAdapter(b, adapterName).newEndpoint(b)
					attr := endpointAttr()
					attr.MaxRecvDTOs = e.recv.length(b)
					for range endpoints - 1 {
						other, r := cgo.EPCreate(e.query(b).IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, attr)
						success(b, "EPCreate", r)
						b.Cleanup(func() { success(b, "EPFree", cgo.EPFree(other)) })
					}
					piece := e.memory.local(0, 64)
					segments := []cgo.LMRTriplet{piece, piece, piece}
					for b.Loop() {
						if cgo.EPPostRecv(e.EPHandle, segments, 1, cgo.CompletionDefault).OK() {
							b.Fatal("the post succeeds")
						}
					}
				})
			}
		})
	}
}
