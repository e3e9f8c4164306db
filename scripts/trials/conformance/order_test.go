package conformance

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Order and loss where several clauses apply.

func forEach(t *testing.T, test func(t *trial)) {
	t.Helper()
	udattest.ForEachIA(t, func(sub *testing.T, ia *udat.IA) { test(&trial{T: sub, ia: ia, iwarp: udattest.IWARP(sub, ia)}) })
}

// Both sides disconnect at once, abruptly or not, while messages go both ways. Each side gets one event, and each
// operation has one completion, in order.
func TestBothSidesDisconnect(t *testing.T) {
	const n = 64
	forEach(t, func(t *trial) {
		for _, flags := range [][2]udat.CloseFlags{
			{udat.CloseAbrupt, udat.CloseAbrupt},
			{udat.CloseGraceful, udat.CloseGraceful},
			{udat.CloseAbrupt, udat.CloseGraceful},
		} {
			a, b := t.deepPair(n)
			both := []*udattest.Endpoint{a, b}
			for _, e := range both {
				t.postRecv(e, series(0, n)...)
			}
			for _, e := range both {
				t.postSend(e, series(0, n)...)
			}
			t.atOnce(len(both), func(i int) error { return both[i].Disconnect(flags[i]) })()
			for _, e := range both {
				t.disconnected(e)
				for _, evd := range []*udat.EVD{e.Request, e.Recv} {
					if status := t.completions(evd, series(0, n)...); !monotone(status) {
						t.Errorf("with the flags %v the completions are %v", flags, status)
					}
				}
				t.wantIdle(e, true, true)
				t.must(e.Reset())
				for _, evd := range []*udat.EVD{e.Request, e.Recv, e.Connect} {
					udattest.NoEvent(t, evd)
				}
			}
		}
	})
}

// Both sides give up during connection establishment: the one that connects and, when it accepts, the other.
func TestDisconnectWhileConnecting(t *testing.T) {
	forEach(t, func(t *trial) {
		listener := udattest.Listen(t, t.ia)
		for _, flags := range closeFlags {
			a, b := t.endpoint(), t.endpoint()
			t.postRecv(a, 1, 2)
			t.postRecv(b, 3, 4)
			t.must(t.ask(listener, a).Accept(b.EP, nil))
			t.must(a.Disconnect(flags))
			t.must(b.Disconnect(flags))
			for _, e := range []*udattest.Endpoint{a, b} {
				event := udattest.Wait(t, e.Connect)
				if event.Number == udat.EventConnectionEstablished {
					event = udattest.Wait(t, e.Connect)
				}
				if event.Number != udat.EventConnectionDisconnected && event.Err() == nil {
					t.Errorf("the end is reported as %v", event.Number)
				}
				t.wantState(e, udat.EPStateDisconnected)
			}
			t.flushed(a.Recv, 1, 2)
			t.flushed(b.Recv, 3, 4)
			for _, e := range []*udattest.Endpoint{a, b} {
				t.must(e.Reset())
				udattest.NoEvent(t, e.Connect)
			}
			t.connectTo(a, b)
			t.exchange(a, b)
		}
	})
}

// A graceful disconnect of one side comes while the other sends: no message that was sent with success is lost.
func TestGracefulAgainstSender(t *testing.T) {
	const n = 200
	forEach(t, func(t *trial) {
		a, b := t.deepPair(n)
		t.postRecv(a, series(0, n)...)
		t.postRecv(b, series(0, n)...)
		t.postSend(a, series(0, n)...)
		t.must(a.Disconnect(udat.CloseGraceful))
		for i := range uint64(n) { // a late message is refused or flushed
			if b.PostSend(one(b.Segment(t, 0, message)), i, 0) != nil {
				break
			}
		}
		t.disconnected(a, b)
		t.succeeded(a.Request, series(0, n)...)
		t.succeeded(b.Recv, series(0, n)...)
		if status := t.completions(a.Recv, series(0, n)...); !monotone(status) {
			t.Errorf("the receives complete with %v", status)
		}
	})
}
