//go:build linux

package udat_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// armingSteps are the calls by which an EVD is armed, with the codes that they
// fail with here, and what the error of a wait says then. A step may fail with a
// code that elsewhere says that nothing is wrong.
var armingSteps = []struct {
	name  string
	step  func(*failingCalls) *failingCall
	code  udat.Return
	error udat.ReturnType
}{
	{"modify_agent", func(c *failingCalls) *failingCall { return &c.cnoModifyAgent }, returnOf(udat.ErrInternalError), udat.ErrInternalError},
	{"cno_wait", func(c *failingCalls) *failingCall { return &c.cnoWait }, returnOf(udat.ErrInvalidState), udat.ErrInvalidState},
	{"enable", func(c *failingCalls) *failingCall { return &c.evdEnable }, returnOf(udat.ErrInternalError), udat.ErrInternalError},
	{"enable, without class", func(c *failingCalls) *failingCall { return &c.evdEnable }, udat.Return(udat.ErrInsufficientResources), udat.ErrInsufficientResources},
	{"enable as an empty queue", func(c *failingCalls) *failingCall { return &c.evdEnable }, udat.Return(udat.ErrQueueEmpty), udat.ErrInternalError},
	{"enable as a time-out", func(c *failingCalls) *failingCall { return &c.evdEnable }, udat.Return(udat.ErrTimeoutExpired), udat.ErrInternalError},
}

func returnOf(t udat.ReturnType) udat.Return { return udat.Return(udat.ClassError) | udat.Return(t) }

// waitAsleep waits on the EVD with a goroutine that sleeps when waitAsleep returns.
func waitAsleep(t *testing.T, evd *udat.EVD) <-chan udat.Event {
	t.Helper()
	events := make(chan udat.Event, 1)
	go func() {
		event, err := evd.Wait(udattest.Context(t))
		if err != nil {
			t.Error(err)
		}
		events <- event
	}()
	udat.AwaitWaiter(evd)
	return events
}

// disarm has the library notify of an event, after which an EVD is not armed. To
// take an event that is there does not arm it.
func disarm(t *testing.T, evd *udat.EVD) {
	t.Helper()
	want(t, evd.PostSE(0))
	udattest.Expect(t, evd, udat.EventSoftware)
}

// A wait for which the EVD cannot be armed says so, and the next one arms it.
func TestWaitAfterArmingFailed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		for _, s := range armingSteps {
			t.Run(s.name, func(t *testing.T) {
				evd, step := createEVD(t, ia, 8, udat.EVDSoftware), s.step(calls)
				want(t, evd.SetWaitSpin(0))
				waits := map[string]func(context.Context) error{
					"Wait": func(ctx context.Context) error { return second(evd.Wait(ctx)) },
					"WaitBatch": func(ctx context.Context) error {
						return second(evd.WaitBatch(ctx, make([]udat.Event, 2), 2))
					},
					"Events": func(ctx context.Context) (err error) {
						for _, err = range evd.Events(ctx) {
						}
						return err
					},
				}
				for name, wait := range waits {
					disarm(t, evd)
					step.next(always, s.code)
					for range 3 {
						err := wait(udattest.Context(t))
						want(t, err, s.error)
						if errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("%s slept", name)
						}
					}
					step.wantFailed(t)
					woken := waitAsleep(t, evd)
					want(t, evd.PostSE(7))
					if event := receive(t, woken); event.Number != udat.EventSoftware || event.Cookie != 7 {
						t.Errorf("after %s got %+v", name, event)
					}
				}
			})
		}
	})
}

// The same for completions, whose notification is the adapter's.
func TestWaitForCompletionsAfterArmingFailed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		active, passive := udattest.Pair(t, ia, nil)
		want(t, passive.Recv.SetWaitSpin(0))
		exchange := func(i uint64) {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), i, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), i, 0))
		}
		for i, s := range armingSteps {
			// The notification of this makes the next wait arm the EVD, or the one
			// that it finds asleep.
			exchange(uint64(2 * i))
			var events [1]udat.Event
			for n := 0; n == 0; {
				var err error
				n, err = passive.Recv.SpinPoll(events[:], udat.MaxSpin)
				want(t, err)
			}
			step := s.step(calls)
			step.next(always, s.code)
			want(t, second(passive.Recv.Wait(udattest.Context(t))), s.error)
			step.wantFailed(t)
			woken := waitAsleep(t, passive.Recv)
			exchange(uint64(2*i + 1))
			if event := receive(t, woken); event.Cookie != uint64(2*i+1) || event.Status != udat.DTOSuccess {
				t.Errorf("got %+v", event)
			}
		}
	})
}

// Goroutines that sleep are not forgotten when the one that was woken cannot arm
// the EVD for them.
func TestSleepersAfterArmingFailed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		for _, s := range armingSteps {
			t.Run(s.name, func(t *testing.T) {
				evd, step := createEVD(t, ia, 8, udat.EVDSoftware), s.step(calls)
				want(t, evd.SetWaitSpin(0))
				const sleepers, failures = 5, 3
				cookies := make(chan uint64, sleepers)
				for range sleepers {
					go func() {
						for {
							event, err := evd.Wait(udattest.Context(t))
							if err == nil {
								cookies <- event.Cookie
								return
							}
							if !errors.Is(err, s.error) || errors.Is(err, context.DeadlineExceeded) {
								t.Error(err)
								return
							}
						}
					}()
				}
				udat.AwaitWaiters(evd, sleepers)
				step.next(failures, s.code)
				var sum, expected uint64
				for i := range uint64(sleepers) {
					want(t, evd.PostSE(i+1))
					sum += receive(t, cookies)
					expected += i + 1
				}
				step.awaitFailed(t, failures)
				if sum != expected {
					t.Errorf("the cookies' sum is %d, want %d", sum, expected)
				}
			})
		}
	})
}

func TestCNOAfterArmingFailed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		for _, s := range armingSteps {
			t.Run(s.name, func(t *testing.T) {
				evd, step := createEVD(t, ia, 8, udat.EVDSoftware), s.step(calls)
				cno := createCNO(t, ia, nil, evd)
				disarm(t, evd)
				step.next(always, s.code)
				for range 3 {
					want(t, second(cno.Wait(udattest.Context(t))), s.error)
				}
				step.wantFailed(t)
				woken := make(chan *udat.EVD, 1)
				go func() { woken <- waitCNO(t, cno) }()
				udat.AwaitCNOWaiters(cno, 1)
				want(t, evd.PostSE(1))
				if receive(t, woken) != evd {
					t.Error("another event dispatcher has events")
				}
				udattest.Expect(t, evd, udat.EventSoftware)

				// An agent waits, and nobody could be told of an error.
				disarm(t, evd)
				const failures = 3
				step.next(failures, s.code)
				want(t, cno.ModifyAgent(func(evd *udat.EVD) { woken <- evd }))
				step.awaitFailed(t, failures)
				udat.AwaitCNOWaiters(cno, 1)
				want(t, evd.PostSE(2))
				if receive(t, woken) != evd {
					t.Error("the agent gets another event dispatcher")
				}
				udattest.Expect(t, evd, udat.EventSoftware)
			})
		}
	})
}

// Nobody has to look at the asynchronous EVD: the binding empties it also when it
// could not be armed for a while.
func TestAsyncEVDAfterArmingFailed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		provokeOne, release, err := udat.PrepareAsyncErrors(ia)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		seen := 0
		provoke := func() {
			seen++
			want(t, provokeOne())
			await(t, "the error", func() bool { return udat.EventsSeen(ia.AsyncEVD()) >= seen })
		}
		for _, s := range armingSteps {
			const failures = 3
			step := s.step(calls)
			step.next(failures, s.code)
			provoke()
			step.awaitFailed(t, failures)
			provoke()
			provoke()
		}
	})
}

// Connection requests arrive also when their queue could not be armed for a while.
func TestRequestsAfterArmingFailed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		listener := udattest.Listen(t, ia)
		request := func() {
			client := udattest.NewEndpoint(t, ia, nil)
			want(t, client.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
			want(t, udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR().Reject(nil))
			udattest.Expect(t, client.Connect, udat.EventConnectionPeerRejected)
		}
		for _, s := range armingSteps {
			const failures = 3
			step := s.step(calls)
			client := udattest.NewEndpoint(t, ia, nil)
			step.next(failures, s.code)
			want(t, client.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
			step.awaitFailed(t, failures)
			want(t, udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR().Reject(nil))
			udattest.Expect(t, client.Connect, udat.EventConnectionPeerRejected)
			request()
		}
	})
}

// A graceful disconnect goes on when the binding's wait for the requests cannot
// be armed.
func TestGracefulDisconnectAfterArmingFailed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		for i, s := range armingSteps {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				active, passive := udattest.Pair(t, ia, nil)
				want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
				want(t, active.PostSend(one(active.Segment(t, 0, 8)), 1, 0)) // disarms the EVD
				udattest.Completion(t, passive.Recv, 1)
				held := hold(t, active, passive, 2)
				const failures = 3
				step := s.step(calls)
				step.next(failures, s.code)
				want(t, active.Disconnect(udat.CloseGraceful))
				step.awaitFailed(t, failures)
				wantState(t, active.EP, udat.EPStateDisconnectPending)
				udattest.Completion(t, active.Request, 1)
				held.release()
				udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
				udattest.Expect(t, passive.Connect, udat.EventConnectionDisconnected)
				udattest.Completion(t, active.Request, 2)
			})
		}
	})
}

// An EVD that cannot be armed is not made, and leaves nothing behind.
func TestCreateEVDFailsToArm(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		for _, flags := range []udat.EVDFlags{udat.EVDSoftware, udat.EVDDTO, udat.EVDConnection} {
			calls.evdEnable.next(1, returnOf(udat.ErrInternalError))
			want(t, second(udat.CreateEVD(ia, 8, flags)), udat.ErrInternalError)
			calls.evdEnable.wantFailed(t)
		}
	})
}
