package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Memory can be freed that operations use. They fail, and their connection ends.
func TestFreeLMRInUse(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		into := must(udat.AllocMemory(passive.PZ, 4096, udat.MemPrivAll))
		segment := must(into.Segment(0, 8))
		want(t, passive.PostRecv(one(segment), 1, 0))
		want(t, into.Free())
		want(t, passive.PostRecv(one(segment), 2, 0), udat.ErrClosed)
		want(t, active.PostSend(one(active.Segment(t, 0, 8)), 3, 0))
		if event := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion); event.Cookie != 1 || event.Err() == nil {
			t.Errorf("the receive completes as %+v", event)
		}
		for _, e := range []*udattest.Endpoint{active, passive} {
			if n := udattest.Wait(t, e.Connect).Number; n != udat.EventConnectionDisconnected && n != udat.EventConnectionBroken {
				t.Errorf("the connection ends with %v", n)
			}
		}
	})
}

func TestSyncRDMA(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		other := udattest.NewEndpoint(t, udattest.Open(t, ia.Name()), nil)
		segments := []udat.Segment{e.Segment(t, 0, 8), {}, e.Segment(t, 100, 0)}
		for name, sync := range map[string]func(*udat.IA, []udat.Segment) error{
			"read": (*udat.IA).SyncRDMARead, "write": (*udat.IA).SyncRDMAWrite,
		} {
			t.Run(name, func(t *testing.T) {
				want(t, sync(ia, segments))
				want(t, sync(ia, nil))
				want(t, sync(nil, nil), udat.ErrInvalidHandle, udat.InvalidHandleIA)
				want(t, sync(other.IA, segments), udat.ErrInvalidHandle, udat.InvalidHandleLMR)
			})
		}
		want(t, e.Memory.Free())
		want(t, ia.SyncRDMARead(segments), udat.ErrClosed)
	})
}
