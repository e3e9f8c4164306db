package udat_test

import (
	"slices"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// SpinPoll lets others run when it has found something, too. So does posting, where it takes long.
func TestCallsEndTimeslices(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		remote, err := passive.Memory.RMRTriplet(0, 8)
		want(t, err)
		segment := one(active.Segment(t, 0, 8))
		calls := map[string]func(){
			"SpinPoll": func() {
				evd := createEVD(t, ia, 4, udat.EVDSoftware) // whose first timeslice has begun long ago
				post(t, evd, 1, 2)
				if n, err := evd.SpinPoll(make([]udat.Event, 2), time.Millisecond); n != 2 || err != nil {
					t.Fatalf("got %d events, %v", n, err)
				}
			},
		}
		attr, _, err := ia.Query()
		want(t, err)
		devices, err := device.List()
		want(t, err)
		if slices.ContainsFunc(devices, func(d device.Device) bool { return d.Name == attr.AdapterName && d.Software }) {
			calls["PostRDMAWrite"] = func() { want(t, active.EP.PostRDMAWrite(segment, 1, remote, 0)) }
			calls["PostBatch"] = func() {
				postAll(t, active.EP, []udat.Post{{Operation: udat.DTORDMAWrite, Segments: segment, Cookie: 1, Remote: remote}})
			}
		}
		for name, call := range calls {
			await(t, name+" lets others run", func() bool {
				udat.SpendSlice() // another goroutine may end its timeslice just then
				call()
				ended := udat.SliceEnded() // before the wait, which may end a timeslice, too
				if name != "SpinPoll" {
					udattest.Expect(t, active.Request, udat.EventDTOCompletion)
				}
				return ended
			})
		}
	})
}
