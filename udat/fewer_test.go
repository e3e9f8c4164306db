package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// fewerOnSIW returns the number of endpoints or event dispatchers that a test makes on
// an adapter: over soft-iWARP, libsiw mistakes the 145th page of an adapter's queues
// for a failure, so that nothing more can be made. An endpoint has two such pages, and
// an event dispatcher for completions has one for 127 of them.
func fewerOnSIW(t *testing.T, ia *udat.IA, n, few int) int {
	t.Helper()
	if udattest.IWARP(t, ia) {
		return min(n, few)
	}
	return n
}

// An endpoint for which the adapter has no queues is refused, and there are some
// again when another is freed.
func TestQueuesRunOut(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !udattest.IWARP(t, ia) {
			t.Log("not tested: only soft-iWARP has few enough")
			return
		}
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		var eps []*udat.EP
		const most = 200
		for err == nil && len(eps) < most {
			var ep *udat.EP
			if ep, err = udat.CreateEP(ia, pz, nil, nil, nil, nil); err == nil {
				eps = append(eps, ep)
			}
		}
		want(t, err, udat.ErrInsufficientResources)
		want(t, eps[len(eps)-1].Free())
		eps[len(eps)-1], err = udat.CreateEP(ia, pz, nil, nil, nil, nil)
		want(t, err)
		for _, ep := range eps {
			want(t, ep.Free())
		}
		want(t, pz.Free())
	})
}
