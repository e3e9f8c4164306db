package udat_test

import (
	"errors"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Memory that is freed while another goroutine posts from it stays where it is until the library, which
// copies short messages, has returned.
func TestFreeMemoryWhilePosting(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const length = 64 // the adapters take as much inline
		active, passive := udattest.Pair(t, ia, nil)
		remote, err := passive.Memory.RMRTriplet(0, length)
		want(t, err)
		for range 2000 {
			region, err := udat.AllocMemory(active.PZ, length, udat.MemPrivLocalRead)
			want(t, err)
			segment, err := region.Segment(0, length)
			want(t, err)
			begun, freed := make(chan struct{}), make(chan error, 1)
			go func() {
				<-begun
				freed <- region.Free()
			}()
			posted := 0
			for ; posted < 12; posted++ {
				if err = active.EP.PostRDMAWrite(one(segment), 1, remote, udat.CompletionDefault); err != nil {
					break
				}
				if posted == 0 {
					close(begun)
				}
			}
			if err != nil && !errors.Is(err, udat.ErrClosed) {
				t.Fatal(err)
			}
			want(t, <-freed)
			for range posted {
				udattest.Expect(t, active.Request, udat.EventDTOCompletion)
			}
		}
	})
}
