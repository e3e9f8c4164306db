package udat_test

import (
	"context"
	"runtime"
	"testing"

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
