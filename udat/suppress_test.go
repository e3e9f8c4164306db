package udat_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Suppressed sends never fill the queue, and have no events.
func TestSuppressedSends(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, queue := range []int{1, 2, 8} {
			attr := udattest.DefaultAttr(t, ia)
			attr.MaxRequestDTOs = queue
			active, passive := udattest.Pair(t, ia, &attr)
			const sends = 50
			for i := range sends {
				want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), uint64(i), 0))
				sendSuppressed(t, active, uint64(i))
				if event := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion); event.Cookie != uint64(i) {
					t.Fatalf("receive %d came after %d", event.Cookie, i)
				}
			}
			wantNoEvent(t, active.Request)

			// A graceful disconnect waits for them, and ends.
			last := min(3, queue)
			for i := range last {
				want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), uint64(i), 0))
			}
			for i := range last {
				sendSuppressed(t, active, uint64(i))
			}
			want(t, active.EP.Disconnect(udat.CloseGraceful))
			udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
			for range last {
				want(t, udattest.Expect(t, passive.Recv, udat.EventDTOCompletion).Err())
			}
			wantNoEvent(t, active.Request)
		}
	})
}

// sendSuppressed posts a send once there is room: the message may be there before
// the sender knows.
func sendSuppressed(t *testing.T, e *udattest.Endpoint, cookie uint64) {
	t.Helper()
	for ctx := udattest.Context(t); ; runtime.Gosched() {
		err := e.PostSend(one(e.Segment(t, 0, 8)), cookie, udat.CompletionSuppress)
		if err == nil {
			return
		}
		if !errors.Is(err, udat.ErrInsufficientResources) || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// A suppressed request that fails is reported even so.
func TestSuppressedSendFails(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		const sends = 9
		held := hold(t, active, passive)
		for i := range sends {
			held.one(uint64(i), udat.CompletionSuppress)
		}
		want(t, passive.EP.Disconnect(udat.CloseAbrupt))
		held.restore()
		for i := range sends {
			if event := udattest.Expect(t, active.Request, udat.EventDTOCompletion); event.Err() == nil || event.Cookie != uint64(i) {
				t.Errorf("send %d completed as %+v", i, event)
			}
		}
	})
}
