package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Posting lets others run, too, where it takes long.
func TestPostsLetOthersRun(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !udat.HasLongPosts(ia) {
			t.Skip("needs a software device: on others, posting takes no time")
		}
		active, passive := udattest.Pair(t, ia, nil)
		remote, err := passive.Memory.RMRTriplet(0, 8)
		want(t, err)
		segment := one(active.Segment(t, 0, 8))
		for name, post := range map[string]func(){
			"alone": func() { want(t, active.EP.PostRDMAWrite(segment, 1, remote, 0)) },
			"a batch": func() {
				postAll(t, active.EP, []udat.Post{{Operation: udat.DTORDMAWrite, Segments: segment, Cookie: 1, Remote: remote}})
			},
		} {
			patience := udattest.Context(t)
			for ended := false; !ended; {
				if patience.Err() != nil {
					t.Fatalf("%s: a goroutine that posts does not let others run", name)
				}
				udat.SpendSlice()
				post()
				ended = udat.SliceEnded() // before the wait, which may end a timeslice, too
				udattest.Expect(t, active.Request, udat.EventDTOCompletion)
			}
		}
	})
}
