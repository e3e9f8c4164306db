package udat_test

import (
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/internal/notify"
	"github.com/goudat/goudat/udat/udattest"
)

// Posting lets others run where it takes long, as on a device that is a program.
func TestPostsEndTimeslices(t *testing.T) {
	if !udattest.InTestbed(t) {
		return // elsewhere the device may be another
	}
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		remote := must(passive.Memory.RMRTriplet(0, 8))
		write := udat.Post{Operation: udat.DTORDMAWrite, Segments: one(active.Segment(t, 0, 8)), Cookie: 1, Remote: remote}
		for name, post := range map[string]func(){
			"alone":   func() { want(t, active.EP.PostRDMAWrite(write.Segments, 1, remote, 0)) },
			"a batch": func() { postAll(t, active.EP, []udat.Post{write}) },
		} {
			await(t, name+": the end of a timeslice", func() bool {
				time.Sleep(6 * time.Millisecond) // a timeslice is over
				post()
				ended := !notify.SliceOver() // since it is another's
				wantCompletion(t, active.Request, 1, udat.DTOSuccess)
				return ended
			})
		}
	})
}
