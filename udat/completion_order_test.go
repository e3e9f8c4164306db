package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// An endpoint takes as many requests as it was made for, also after an RDMA read has
// completed behind requests that were posted later, as over soft-iWARP.
func TestPostAfterLateRead(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const requests = 8
		attr := udattest.DefaultAttr(t, ia)
		attr.MaxRequestDTOs = requests
		options := udattest.Options{Attr: &attr, MemorySize: 1 << 20}
		listener := udattest.Listen(t, ia)
		active, passive := options.NewEndpoint(t, ia), options.NewEndpoint(t, ia)
		udattest.ConnectPair(t, listener, active, passive)
		remote, err := passive.Memory.RMRTriplet(0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		word := remote
		word.SegmentLength = 8
		for round := range 20 {
			want(t, active.PostRDMARead(one(active.Segment(t, 0, 1<<20)), 0, remote, 0))
			for i := range uint64(requests) {
				if i > 0 {
					want(t, active.PostRDMAWrite(one(active.Segment(t, 0, 8)), i, word, 0))
				}
			}
			for i := range uint64(requests) {
				if e := udattest.Wait(t, active.Request); e.Err() != nil || e.Cookie != i {
					t.Fatalf("round %d: request %d completes with %+v", round, i, e)
				}
			}
			// Nobody looks for completions until all are posted.
			for i := range uint64(requests) {
				if err := active.PostRDMAWrite(one(active.Segment(t, 0, 8)), i, word, 0); err != nil {
					t.Fatalf("round %d: request %d of %d after those is refused: %v", round, i, requests, err)
				}
			}
			for i := range uint64(requests) {
				if e := udattest.Wait(t, active.Request); e.Err() != nil || e.Cookie != i {
					t.Fatalf("round %d: request %d completes with %+v", round, i, e)
				}
			}
		}
	})
}
