package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// However many endpoints there are, freeing a memory region looks at those alone that have posted operations on it; and
// neither keeps the other in memory.
func TestRegionsKnowTheirUsers(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const n = 8
		e := udattest.NewEndpoint(t, ia, nil) // with what the others share
		post := func(ep *udat.EP, lmr *udat.LMR) {
			t.Helper()
			segment, err := lmr.Segment(0, 8)
			want(t, err)
			want(t, ep.PostRecv(one(segment), 0, 0))
		}
		var eps []*udat.EP
		var regions []*udat.LMR
		for range n {
			ep, err := udat.CreateEP(ia, e.PZ, e.Recv, e.Request, e.Connect, nil)
			want(t, err)
			lmr, err := udat.AllocMemory(e.PZ, 64, udat.MemPrivAll)
			want(t, err)
			eps, regions = append(eps, ep), append(regions, lmr)
			for range 2 {
				post(ep, lmr)
				post(ep, e.Memory)
			}
		}
		count := func(what string, got, wanted int) {
			t.Helper()
			if got != wanted {
				t.Errorf("%s: %d, want %d", what, got, wanted)
			}
		}
		count("users of the memory of one", udat.RegionUsers(regions[0]), 1)
		count("users of that of all", udat.RegionUsers(e.Memory), n)
		count("regions of an endpoint", udat.RegionsOf(eps[0]), 2)

		want(t, regions[0].Free(), udat.ErrInvalidState, udat.InvalidStateLMRInUse)
		want(t, eps[0].Free())
		count("users after one has gone", udat.RegionUsers(regions[0]), 0)
		count("users of that of all, after one has gone", udat.RegionUsers(e.Memory), n-1)
		want(t, regions[0].Free())

		// One that lives on lets go of what is freed.
		active, passive := udattest.Pair(t, ia, nil)
		lmr, err := udat.AllocMemory(passive.PZ, 64, udat.MemPrivAll)
		want(t, err)
		freed, err := lmr.Segment(0, 8)
		want(t, err)
		post(passive.EP, passive.Memory)
		before := udat.RegionsOf(passive.EP)
		post(passive.EP, lmr)
		count("regions with another one", udat.RegionsOf(passive.EP), before+1)
		want(t, active.PostSend(nil, 0, 0))
		udattest.Expect(t, passive.Recv, udat.EventDTOCompletion)
		want(t, lmr.Free(), udat.ErrInvalidState, udat.InvalidStateLMRInUse)
		want(t, active.PostSend(nil, 0, 0))
		udattest.Expect(t, passive.Recv, udat.EventDTOCompletion)
		want(t, lmr.Free())
		count("regions of the endpoint", udat.RegionsOf(passive.EP), before)
		want(t, passive.PostRecv(one(freed), 0, 0), udat.ErrClosed)
		count("regions after a post of what is freed", udat.RegionsOf(passive.EP), before)
		for i := 1; i < n; i++ {
			want(t, eps[i].Free())
			want(t, regions[i].Free())
		}
	})
}
