package udat_test

import (
	"context"
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
			panics(t, func() { cno.Wait(ctx) })
		}
		ended := asleep(t, ia, waitsFor(udattest.Context(t), evd, 1)...)
		post(t, evd, 1)
		want(t, receive(t, ended))
		post(t, evd, 2)
		wantGiven(t, cno, evd)
		wantCookies(t, evd, 2)
		want(t, evd.Free())
		want(t, cno.Free())
	})
}
