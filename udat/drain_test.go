//go:build linux

package udat_test

import (
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// takeAll are the ways in which a program takes n completions.
var takeAll = map[string]func(t *testing.T, evd *udat.EVD, n int){
	"none": func(*testing.T, *udat.EVD, int) {},
	"Poll": func(t *testing.T, evd *udat.EVD, n int) {
		for taken, events := 0, make([]udat.Event, 8); taken < n; {
			got, err := evd.Poll(events)
			want(t, err)
			taken += got
		}
	},
	"Wait": func(t *testing.T, evd *udat.EVD, n int) {
		for range n {
			udattest.Expect(t, evd, udat.EventDTOCompletion)
		}
	},
	"WaitBatch": func(t *testing.T, evd *udat.EVD, n int) {
		want(t, second(evd.WaitBatch(udattest.Context(t), make([]udat.Event, n), n)))
	},
	"Events": func(t *testing.T, evd *udat.EVD, n int) {
		for _, err := range evd.Events(udattest.Context(t)) {
			want(t, err)
			if n--; n == 0 {
				return
			}
		}
	},
}

// A graceful disconnect ends though the event dispatcher is full, with completions that were
// not taken and suppressed requests that were posted before it counted its room, whether or
// not the program makes room.
func TestGracefulDisconnectWithoutRoom(t *testing.T) {
	const endpoints, suppressed = 2, 2 // so few that the binding has none reported
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for name, take := range takeAll {
			for _, further := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					a, b := newEmptyCrowd(t, ia, 31), newCrowd(t, ia, 64, endpoints)
					remote, err := b.memory.RMRTriplet(0, 8)
					want(t, err)
					write := func(ep *udat.EP, n int, flags udat.CompletionFlags) {
						for range n {
							want(t, ep.PostRDMAWrite(a.segment(t), 1, remote, flags))
						}
					}
					length := qlen(t, a.evd)
					untaken := length - endpoints*suppressed
					listener := udattest.Listen(t, ia)
					for i := range endpoints {
						a.join(t, &udat.EPAttr{MaxRecvDTOs: 1, MaxRequestDTOs: 14})
						connect(t, listener, a, b, i)
					}
					for i := range untaken {
						write(a.eps[0], 1, 0)
						await(t, "a completion", func() bool {
							udat.Reap(a.evd)
							return udat.Queued(a.evd) == i+1
						})
					}
					for _, ep := range a.eps {
						write(ep, suppressed, udat.CompletionSuppress)
					}
					if udat.CountsRoom(a.evd) {
						t.Fatal("the event dispatcher counts its room")
					}
					other := a.join(t, &udat.EPAttr{MaxRecvDTOs: 64})
					if !udat.CountsRoom(a.evd) {
						t.Fatal("the event dispatcher does not count its room")
					}
					for _, ep := range a.eps[:endpoints] {
						want(t, ep.Disconnect(udat.CloseGraceful))
					}
					if further {
						want(t, other.Free())
						want(t, a.evd.Resize(length+endpoints))
					}
					take(t, a.evd, untaken)
					for range endpoints {
						udattest.Expect(t, a.events, udat.EventConnectionDisconnected)
						udattest.Expect(t, b.events, udat.EventConnectionDisconnected)
					}
					if name != "none" {
						wantNoEvent(t, a.evd)
						for i := range endpoints {
							if !status(t, a.eps[i]).RequestIdle {
								t.Errorf("endpoint %d is not idle", i)
							}
						}
					}
					wantNoOverflow(t, ia)
				})
			}
		}
	})
}

// refusal is what a call of the library returns that has no resources.
const refusal = udat.Return(1<<31) | udat.Return(udat.ErrInsufficientResources)

// A graceful disconnect ends though posts fail inside the library: one of the program's behind
// a suppressed request, or the one by which the binding learns of that.
func TestGracefulDisconnectAfterRefusedPost(t *testing.T) {
	ways := map[string]struct {
		program  bool
		failures int32
	}{
		"the program's":          {true, 1},
		"the binding's":          {false, 1},
		"the binding's, forever": {false, always},
	}
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		for name, way := range ways {
			t.Run(name, func(t *testing.T) {
				active, passive := udattest.Pair(t, ia, nil)
				remote, err := passive.Memory.RMRTriplet(0, 8)
				want(t, err)
				write := func(flags udat.CompletionFlags) error {
					return active.PostRDMAWrite(one(active.Segment(t, 0, 8)), 1, remote, flags)
				}
				want(t, write(udat.CompletionSuppress))
				failing := &calls.epPostRDMAWrite
				failing.next(way.failures, refusal)
				if way.program {
					want(t, write(0), udat.ErrInsufficientResources)
				}
				want(t, active.Disconnect(udat.CloseGraceful))
				udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
				udattest.Expect(t, passive.Connect, udat.EventConnectionDisconnected)
				failing.wantFailed(t)
				wantNoEvent(t, active.Request)
				await(t, "the endpoint is not idle", func() bool { return status(t, active.EP).RequestIdle })
				want(t, active.Reset())
				wantNoEvent(t, active.Request)
				want(t, active.Memory.Free())
			})
		}
	})
}

// Memory that suppressed requests have used can be freed, though the library refuses the post
// by which the binding learns that they are done.
func TestFreeMemoryAfterRefusedReport(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		defer udat.SetSettleWithin(udattest.Patience)() // the machine may be busy
		active, passive := udattest.Pair(t, ia, nil)
		remote, err := passive.Memory.RMRTriplet(0, 8)
		want(t, err)
		want(t, active.PostRDMAWrite(one(active.Segment(t, 0, 8)), 1, remote, udat.CompletionSuppress))
		calls.epPostRDMAWrite.next(3, refusal)
		start := time.Now()
		want(t, active.Memory.Free())
		if took := time.Since(start); took > udattest.Patience/2 {
			t.Errorf("freeing it took %v", took)
		}
		calls.epPostRDMAWrite.wantFailed(t)
		wantNoEvent(t, active.Request)
	})
}
