package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

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
				want(t, sync(other.IA, segments), udat.ErrInvalidParameter, udat.InvalidArg2)
			})
		}
		want(t, e.Memory.Free())
		want(t, ia.SyncRDMARead(segments), udat.ErrClosed)
	})
}
