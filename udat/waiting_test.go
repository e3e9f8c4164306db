package udat_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// parkAll has no goroutine wait in the library until the test ends: on a single processor none
// does.
func parkAll(t *testing.T) { setProcessors(t, 1) }

// leadSome has one goroutine wait in the library on each EVD, and the others beside it.
func leadSome(t *testing.T) { setProcessors(t, 4) }

func setProcessors(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// waitBothWays runs a test with a goroutine that waits in the library, and with none.
func waitBothWays(t *testing.T, test func(t *testing.T)) {
	t.Run("in the library", func(t *testing.T) {
		leadSome(t)
		test(t)
	})
	t.Run("parked", func(t *testing.T) {
		parkAll(t)
		test(t)
	})
}

// forEachIABothWays is udattest.ForEachIA for tests that run in both ways.
func forEachIABothWays(t *testing.T, test func(t *testing.T, ia *udat.IA)) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		waitBothWays(t, func(t *testing.T) { test(t, ia) })
	})
}

// waited is how a wait has ended.
type waited struct {
	events []udat.Event
	err    error
}

// startBatch has another goroutine wait for a batch, beside others that do already.
func startBatch(ctx context.Context, evd *udat.EVD, room, threshold, others int, ended chan<- waited) {
	go func() {
		events := make([]udat.Event, room)
		n, err := evd.WaitBatch(ctx, events, threshold)
		ended <- waited{events[:n], err}
	}()
	udat.AwaitWaiters(evd, others+1)
}

// startWaits has n goroutines wait for an event each. The first may do so in the library.
func startWaits(ctx context.Context, evd *udat.EVD, n int) <-chan waited {
	ended := make(chan waited, n)
	for i := range n {
		startBatch(ctx, evd, 1, 1, i, ended)
	}
	return ended
}

// wantWaited checks that a wait has got an event, and returns its cookie.
func wantWaited(t *testing.T, ended <-chan waited) uint64 {
	t.Helper()
	w := receive(t, ended)
	if w.err != nil || len(w.events) == 0 {
		t.Fatalf("a wait ends with %d events, %v", len(w.events), w.err)
	}
	return w.events[0].Cookie
}

// returns fails the test unless f returns.
func returns(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	want(t, receive(t, done))
}

// Calls that change what events name do not wait for the end of a wait, and end none.
func TestCallsBesideWait(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		other := udattest.NewEndpoint(t, ia, nil)
		ended := startWaits(udattest.Context(t), passive.Recv, 2)
		for range 20 {
			returns(t, func() error {
				ep, err := udat.CreateEP(ia, passive.PZ, passive.Recv, passive.Request, passive.Connect, nil)
				want(t, err)
				return ep.Free()
			})
			returns(t, func() error {
				return other.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: passive.Recv})
			})
			returns(t, func() error { return other.Modify(udat.EPFieldRecvEVDHandle, &udat.EPParam{RecvEVD: other.Recv}) })
			returns(t, func() error { return second(passive.Recv.Query()) })
		}
		for i := range uint64(2) {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), i, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), i, 0))
			udattest.Completion(t, active.Request, i)
		}
		if wantWaited(t, ended)+wantWaited(t, ended) != 1 {
			t.Error("the completions came twice")
		}
	})
}

// A service point comes and goes on an EVD that is waited on.
func TestServicePointBesideWait(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		requests := createEVD(t, ia, 8, udat.EVDCR)
		ended := startWaits(udattest.Context(t), requests, 1)
		qual := udattest.ConnQual()
		for range 3 {
			returns(t, func() error {
				psp, err := udat.CreatePSP(ia, qual, requests, udat.PSPConsumer)
				want(t, err)
				return psp.Free()
			})
		}
		psp, err := udat.CreatePSP(ia, qual, requests, udat.PSPConsumer)
		want(t, err)
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.EP.Connect(udattest.Address(t, ia), qual, udattest.Patience, nil))
		w := receive(t, ended)
		want(t, w.err)
		want(t, expectCR(t, w.events[0]).Reject(nil))
		udattest.Expect(t, e.Connect, udat.EventConnectionPeerRejected)
		want(t, psp.Free())
	})
}

// While a goroutine waits in the library, those that only look return at once with nothing, and
// software events can be posted.
func TestPollBesideWait(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		leadSome(t)
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		const batch = 4
		ended := make(chan waited, 1)
		startBatch(udattest.Context(t), evd, batch, batch, 0, ended)
		for i := range uint64(batch) {
			var events [1]udat.Event
			for name, take := range takers {
				returns(t, func() error {
					n, err := take(evd, events[:])
					if n != 0 {
						t.Errorf("%s takes an event of one who waits", name)
					}
					return err
				})
			}
			want(t, second(evd.Dequeue()), udat.ErrQueueEmpty)
			returns(t, func() error { return evd.PostSE(i) })
		}
		w := receive(t, ended)
		want(t, w.err)
		for i, event := range w.events {
			if event.Cookie != uint64(i) {
				t.Errorf("event %d has the cookie %d", i, event.Cookie)
			}
		}
		if len(w.events) != batch {
			t.Errorf("got %d events", len(w.events))
		}
	})
}

// Each of several goroutines that wait gets an event, however many come at once.
func TestWaitersBesideEachOther(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 16, udat.EVDSoftware)
		want(t, evd.SetWaitSpin(0))
		for range 50 {
			ended := startWaits(udattest.Context(t), evd, 4)
			for _, cookies := range [][]uint64{{1}, {2, 4}, {8}} {
				post(t, evd, cookies...)
				sum := uint64(0)
				for range cookies {
					sum += wantWaited(t, ended)
				}
				if sum != cookies[0] && sum != 6 {
					t.Fatalf("after %d the events add up to %d", cookies, sum)
				}
			}
			wantNoEvent(t, evd)
		}
	})
}

// A completion that one was told of in the library is not the last that those are told of who wait elsewhere.
func TestParkedAfterLeader(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		want(t, passive.Recv.SetWaitSpin(0))
		leadSome(t)
		for i := range uint64(40) {
			runtime.GOMAXPROCS([]int{4, 1}[i%2])
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), i, 0))
			ended := startWaits(udattest.Context(t), passive.Recv, 1)
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), i, 0))
			if cookie := wantWaited(t, ended); cookie != i {
				t.Fatalf("receive %d has completed, want %d", cookie, i)
			}
			udattest.Completion(t, active.Request, i)
		}
	})
}

// One that takes fewer events than it has room for leaves no other asleep for good.
func TestBatchBesideWaiters(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 16, udat.EVDSoftware)
		want(t, evd.SetWaitSpin(0))
		for range 50 {
			ctx := udattest.Context(t)
			ended := make(chan waited, 3)
			startBatch(ctx, evd, 1, 1, 0, ended)
			startBatch(ctx, evd, 8, 1, 1, ended)
			startBatch(ctx, evd, 1, 1, 2, ended)
			left := 3
			post(t, evd, 1, 2)
			for taken := 0; taken < 2; left-- {
				w := receive(t, ended)
				want(t, w.err)
				taken += len(w.events)
			}
			for ; left > 0; left-- {
				post(t, evd, 3)
				wantWaited(t, ended)
			}
			wantNoEvent(t, evd)
		}
	})
}

// The end of a context ends the wait that has it, and no other.
func TestCancelBesideWaiters(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 16, udat.EVDSoftware)
		want(t, evd.SetWaitSpin(0))
		for range 50 {
			for first := range 3 { // of these one is in the library
				var cancels [3]context.CancelFunc
				var ended [3]chan waited
				for i := range ended {
					var ctx context.Context
					ctx, cancels[i] = context.WithCancel(udattest.Context(t))
					ended[i] = make(chan waited, 1)
					startBatch(ctx, evd, 1, 1, i, ended[i])
				}
				cancels[first]()
				want(t, receive(t, ended[first]).err, context.Canceled)
				post(t, evd, 1)
				next, last := (first+1)%3, (first+2)%3
				select {
				case w := <-ended[next]:
					want(t, w.err)
				case w := <-ended[last]:
					want(t, w.err)
					next, last = last, next
				case <-udattest.Context(t).Done():
					t.Fatal("the event reaches nobody")
				}
				cancels[next]() // too late
				post(t, evd, 2)
				if cookie := wantWaited(t, ended[last]); cookie != 2 {
					t.Errorf("got the event %d", cookie)
				}
				cancels[last]()
				wantNoEvent(t, evd)
			}
		}
	})
}

// A wait whose context has ended already takes what is there, and leaves those who wait alone.
func TestEndedContextBesideWaiters(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 16, udat.EVDSoftware)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		ended := startWaits(udattest.Context(t), evd, 2)
		for range 10 {
			returns(t, func() error {
				want(t, second(evd.Wait(over)), context.Canceled)
				return nil
			})
		}
		post(t, evd, 1, 2)
		if sum := wantWaited(t, ended) + wantWaited(t, ended); sum != 3 {
			t.Errorf("the events add up to %d", sum)
		}
		post(t, evd, 3)
		event, err := evd.Wait(over)
		want(t, err)
		if event.Cookie != 3 {
			t.Errorf("got %+v", event)
		}
	})
}

// More goroutines wait, each on an EVD of its own, than may do so in the library.
func TestWaitersOnManyEVDs(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		const n = 20
		var evds [n]*udat.EVD
		var ended [n]<-chan waited
		for i := range evds {
			evds[i] = createEVD(t, ia, 4, udat.EVDSoftware)
		}
		for round := range 10 {
			ctx, cancel := context.WithCancel(udattest.Context(t))
			for i, evd := range evds {
				ended[i] = startWaits(ctx, evd, 1+round%2)
			}
			for i := n - 1; i >= 0; i-- {
				post(t, evds[i], uint64(i))
				if cookie := wantWaited(t, ended[i]); cookie != uint64(i) {
					t.Errorf("the wait on event dispatcher %d gets the event %d", i, cookie)
				}
			}
			cancel()
			for i := range evds {
				if round%2 == 1 {
					want(t, receive(t, ended[i]).err, context.Canceled)
				}
				wantNoEvent(t, evds[i])
			}
		}
	})
}

// A goroutine that waits gets its events whatever is done with the CNO meanwhile. When it has ended, the EVD
// triggers the CNO that it has then, unless it is disabled.
func TestChangesOfCNOBesideWait(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		a, b := createCNO(t, ia, nil), createCNO(t, ia, nil)
		t.Cleanup(func() { want(t, evd.ModifyCNO(nil)) })
		want(t, evd.SetWaitSpin(0))
		attach := func(cno *udat.CNO) func() error { return func() error { return evd.ModifyCNO(cno) } }
		var now *udat.CNO
		disabled := false
		for _, change := range []struct {
			name     string
			call     func() error
			cno      *udat.CNO
			disabled bool
		}{
			{"first CNO", attach(a), a, false},
			{"second CNO", attach(b), b, false},
			{"disable", evd.Disable, b, true},
			{"first CNO, disabled", attach(a), a, true},
			{"enable", evd.Enable, a, false},
			{"no CNO", attach(nil), nil, false},
			{"disable without CNO", evd.Disable, nil, true},
			{"first CNO, still disabled", attach(a), a, true},
			{"enable again", evd.Enable, a, false},
		} {
			ended := startWaits(udattest.Context(t), evd, 2)
			returns(t, change.call)
			now, disabled = change.cno, change.disabled
			post(t, evd, 1)
			wantWaited(t, ended)
			post(t, evd, 1)
			wantWaited(t, ended)
			udat.AwaitNoWaiter(evd)
			param, err := evd.Query()
			want(t, err)
			if param.CNO != now || param.State&udat.EVDStateDisabled != 0 != disabled {
				t.Errorf("%s: the event dispatcher says %+v", change.name, param)
			}
			forget(a) // the last event may have come when nobody was waiting
			forget(b)
			post(t, evd, 2)
			for _, cno := range []*udat.CNO{a, b} {
				if cno == now && !disabled {
					if waitCNO(t, cno) != evd {
						t.Errorf("%s: another event dispatcher is given", change.name)
					}
				} else {
					wantSilent(t, cno)
				}
			}
			wantCookies(t, evd, 2)
		}
	})
}

// forget takes what has triggered the CNO.
func forget(cno *udat.CNO) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := cno.Wait(over); err == nil; _, err = cno.Wait(over) {
	}
}

// An EVD notifies of its events only as long as goroutines wait on it that are not in the library:
// one that is polled afterwards costs no wake-ups.
func TestPolledEVDNotifiesNobody(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd, other := createEVD(t, ia, 8, udat.EVDSoftware), createEVD(t, ia, 8, udat.EVDSoftware)
		startWaits(udattest.Context(t), other, 2)
		isDisabled := func() bool {
			var param cgo.EVDParam
			if r := cgo.EVDQuery(cgo.EVDHandle(udat.NativeHandle(evd)), cgo.EVDFieldAll, &param); !r.OK() {
				t.Fatal(r)
			}
			return param.State&cgo.EVDStateDisabled != 0
		}
		poll := func() {
			post(t, evd, 1)
			wantCookies(t, evd, 1)
		}
		poll()
		if !isDisabled() {
			t.Error("an event dispatcher that nobody has waited on notifies of events")
		}
		ended := startWaits(udattest.Context(t), evd, 2)
		post(t, evd, 1, 2)
		wantWaited(t, ended)
		wantWaited(t, ended)
		await(t, "no more notifications of an event dispatcher that is polled", func() bool {
			poll()
			return isDisabled()
		})
		for range 10 {
			poll()
			if !isDisabled() {
				t.Error("an event dispatcher that is polled notifies of events")
			}
		}
	})
}

// A CNO gives each of its EVDs once for its events, to one of those who wait.
func TestCNOWithManyWaiters(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		const n = 6
		var evds []*udat.EVD
		for range n {
			evds = append(evds, createEVD(t, ia, 8, udat.EVDSoftware))
		}
		cno := createCNO(t, ia, nil, evds...)
		for range 20 {
			given := make(chan *udat.EVD, n)
			for range n {
				go func() {
					evd, err := cno.Wait(udattest.Context(t))
					want(t, err)
					given <- evd
				}()
			}
			udat.AwaitCNOWaiters(cno, n)
			for _, evd := range evds {
				post(t, evd, 1)
			}
			seen := make(map[*udat.EVD]bool)
			for range n {
				evd := receive(t, given)
				if evd == nil || seen[evd] {
					t.Fatalf("%p is given again, or none", evd)
				}
				seen[evd] = true
				wantCookies(t, evd, 1)
			}
		}
	})
}
