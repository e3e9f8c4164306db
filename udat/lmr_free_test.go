package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Memory that an operation may still read or write cannot be freed.
func TestFreeLMRWithPostedOperations(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		second, err := udat.AllocMemory(passive.PZ, 4096, udat.MemPrivAll)
		want(t, err)
		segment, err := second.Segment(0, 8)
		want(t, err)
		want(t, passive.PostRecv([]udat.Segment{passive.Segment(t, 0, 8), {}, segment}, 1, 0))
		inUse := []error{udat.ErrInvalidState, udat.InvalidStateLMRInUse}
		want(t, second.Free(), inUse...)
		want(t, passive.Memory.Free(), inUse...)
		if second.Bytes() == nil {
			t.Error("the memory is gone although it could not be freed")
		}
		want(t, active.PostSend(one(active.Segment(t, 0, 16)), 2, 0))
		want(t, active.Memory.Free(), inUse...)
		want(t, udattest.Expect(t, passive.Recv, udat.EventDTOCompletion).Err())
		want(t, second.Free())
		want(t, udattest.Expect(t, active.Request, udat.EventDTOCompletion).Err())
		want(t, active.Memory.Free())

		// With the endpoint go its operations.
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
		want(t, passive.Memory.Free(), inUse...)
		want(t, passive.EP.Free())
		want(t, passive.Memory.Free())
	})
}
