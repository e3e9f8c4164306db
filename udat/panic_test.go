package udat_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// panics runs do, which must panic.
func panics(t *testing.T, do func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Error("there was no panic")
		}
	}()
	do()
}

// panicContext is a context of the program that panics where the binding asks it.
type panicContext struct {
	context.Context
	done, value bool
}

func (c panicContext) Done() <-chan struct{} {
	if c.done {
		panic("Done")
	}
	return c.Context.Done()
}

func (c panicContext) Value(key any) any {
	if c.value {
		panic("Value")
	}
	return c.Context.Value(key)
}

// A context that panics leaves everything that can be waited on usable.
func TestPanicInContext(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		for _, ctx := range []context.Context{
			panicContext{context.Background(), true, false},
			panicContext{over, false, true}, // when the wait is over, its cause is asked for
		} {
			panics(t, func() { evd.Wait(ctx) })
			panics(t, func() { evd.WaitBatch(ctx, make([]udat.Event, 2), 2) })
			panics(t, func() {
				for range evd.Events(ctx) {
				}
			})
			panics(t, func() { cno.Wait(ctx) })
		}
		waited := make(chan error)
		go func() {
			_, err := evd.Wait(udattest.Context(t))
			waited <- err
		}()
		udat.AwaitWaiter(evd)
		want(t, evd.PostSE(1))
		want(t, <-waited)
		want(t, evd.PostSE(2))
		ready, err := cno.Wait(udattest.Context(t))
		want(t, err)
		if ready != evd {
			t.Error("the notification object gives another event dispatcher")
		}
		udattest.Expect(t, evd, udat.EventSoftware)
		want(t, evd.Free())
		want(t, cno.Free())
	})
}

// An agent that panics, and recovers as it must, or ends its goroutine, leaves
// the notification object usable.
func TestPanicInAgent(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, evd)
		ctx := udattest.Context(t)
		for i, end := range []func(){func() { panic("in the agent") }, runtime.Goexit, func() {}} {
			called := make(chan *udat.EVD, 1)
			want(t, cno.ModifyAgent(func(evd *udat.EVD) {
				defer func() {
					recover()
					called <- evd
				}()
				end()
			}))
			want(t, evd.PostSE(uint64(i)))
			select {
			case ready := <-called:
				if ready != evd {
					t.Errorf("agent %d gets another event dispatcher", i)
				}
			case <-ctx.Done():
				t.Fatalf("agent %d is not called", i)
			}
			udattest.Expect(t, evd, udat.EventSoftware)
		}
		want(t, evd.Free())
		want(t, cno.Free())
	})
}

// A program that panics in the middle of its work can free everything, whatever
// is in progress.
func TestPanicInTheMiddle(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		var listener *udattest.Listener
		connect := func(e *udattest.Endpoint) udat.Event {
			want(t, e.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
			return udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
		}
		send := func(e *udattest.Endpoint) {
			for i := range uint64(4) {
				want(t, e.PostSend(one(e.Segment(t, 0, 8)), i, 0))
			}
		}
		for name, work := range map[string]func(a, b *udattest.Endpoint){
			"with receives posted":   func(a, _ *udattest.Endpoint) { want(t, a.PostRecv(one(a.Segment(t, 0, 8)), 1, 0)) },
			"with a request pending": func(a, _ *udattest.Endpoint) { connect(a) },
			"with an accept pending": func(a, b *udattest.Endpoint) {
				request := connect(a)
				want(t, request.CR().Accept(b.EP, nil))
			},
			"with sends outstanding": func(a, b *udattest.Endpoint) {
				udattest.ConnectPair(t, listener, a, b)
				send(a)
			},
			"with a disconnect in progress": func(a, b *udattest.Endpoint) {
				udattest.ConnectPair(t, listener, a, b)
				send(a)
				want(t, a.Disconnect(udat.CloseGraceful))
			},
			"with events not taken": func(a, b *udattest.Endpoint) {
				udattest.ConnectPair(t, listener, a, b)
				want(t, b.PostRecv(one(b.Segment(t, 0, 8)), 1, 0))
				want(t, a.PostSend(one(a.Segment(t, 0, 8)), 1, 0))
				want(t, a.Disconnect(udat.CloseGraceful))
			},
		} {
			t.Run(name, func(t *testing.T) {
				udattest.CheckLeaks(t)
				listener = udattest.Listen(t, ia)
				a, b := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
				// A goroutine that the panic leaves behind.
				waited := make(chan error)
				go func() {
					_, err := a.Recv.WaitBatch(context.Background(), make([]udat.Event, 100), 100)
					waited <- err
				}()
				udat.AwaitWaiter(a.Recv)
				panics(t, func() {
					work(a, b)
					panic("in the middle")
				})
				want(t, listener.PSP.Free())
				for _, e := range []*udattest.Endpoint{b, a} {
					want(t, e.EP.Free())
					want(t, e.Memory.Free())
					want(t, e.Connect.Free())
					want(t, e.Request.Free())
					want(t, e.Recv.Free())
					want(t, e.PZ.Free())
				}
				select {
				case err := <-waited:
					want(t, err, udat.ErrClosed)
				case <-time.After(udattest.Patience):
					t.Error("a goroutine still waits")
				}
			})
		}
	})
}
