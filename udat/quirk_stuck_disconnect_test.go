package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// The adapter still flushes receives that the library was made to forget, in a disconnect
// that only looked stuck. The library waits for no more than those, and the program gets
// each completion once.
func TestForgottenReceives(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if udat.IsPatched(ia) {
			t.Log("the patched library forgets no receives, and needs not")
			return
		}
		const n = 8
		active, passive := udattest.Pair(t, ia, nil)
		for i := range uint64(n) {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 64)), i, 0))
		}
		udat.ForgetReceives(passive.EP)
		want(t, active.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, passive.Connect, udat.EventConnectionDisconnected)
		reset := make(chan error, 1)
		go func() { reset <- passive.Reset() }()
		select {
		case err := <-reset:
			want(t, err)
		case <-udattest.Context(t).Done():
			t.Fatal("the reset does not return")
		}
		for i := range uint64(n) {
			wantFlushed(t, passive.Recv, i)
		}
		wantNoEvent(t, passive.Recv)
	})
}

// disconnected returns an endpoint that was disconnected without a rescue. A rescue leaves
// another native state, and a machine that stands still for long may need one.
func disconnected(t *testing.T, ia *udat.IA) *udattest.Endpoint {
	t.Helper()
	for range 10 {
		active, _ := udattest.Pair(t, ia, nil)
		want(t, active.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
		if !udat.WasRescued(active.EP) {
			return active
		}
	}
	t.Fatal("each disconnect is stuck")
	return nil
}

// A thread that has not run for long looks stuck at the first look, too.
func TestRescueAtSecondLook(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if udat.IsPatched(ia) {
			t.Log("the patched library needs no rescue")
			return
		}
		active, _ := udattest.Pair(t, ia, nil)
		if udat.RescueLooks(active.EP, 2) {
			t.Error("receives of an endpoint that is connected were forgotten")
		}
		active = disconnected(t, ia)
		if udat.RescueLooks(active.EP, 1) {
			t.Error("receives were forgotten at the first look")
		}
		if !udat.RescueLooks(active.EP, 2) {
			t.Error("no receives were forgotten at the second look")
		}
	})
}
