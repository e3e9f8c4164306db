package conformance

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var getStatusClauses = []requirement{
	{"The status has the state that the endpoint is in, in every state that can be reached.", tellsState},
	{"Receives are idle exactly when none is outstanding or in progress.", tellsReceives},
	{"Requests are idle exactly when no send, RDMA read, RDMA write or bind is outstanding or in progress.", tellsRequests},
	{"The status is a snapshot, which waits for no post and no completion.", isSnapshot},
	{"An invalid endpoint is an invalid handle.", invalidHandle(func(ep *udat.EP) error { _, err := ep.GetStatus(); return err })},
	{"The status can be asked for from several threads, beside posts and waits.", statusConcurrently},
}

func tellsState(t *trial) {
	seen := make(map[udat.EPState]bool)
	t.walkAll(func(e *udattest.Endpoint, state udat.EPState) {
		seen[state] = true
		t.wantState(e, state)
		if got := t.query(e).State; got != state {
			t.Errorf("query returned the state %v, want %v", got, state)
		}
	})
	states := 8 // that the pages name, without TENTATIVE_CONNECTION_PENDING
	if t.iwarp {
		states-- // nor COMPLETION_PENDING
	}
	if len(seen) != states {
		t.Errorf("the endpoint was in %d states, want %d: %v", len(seen), states, seen)
	}
	t.remark(noTentative)
}

func tellsReceives(t *trial) {
	// Receives can be posted in all states before a connection, too.
	posted := make(map[*udattest.Endpoint]bool)
	t.walkAll(func(e *udattest.Endpoint, state udat.EPState) {
		switch state {
		case udat.EPStateConnected, udat.EPStateDisconnectPending, udat.EPStateDisconnected:
			return
		case udat.EPStateActiveConnectionPending:
			return // with a receive at the peer, the walk's send would complete
		}
		t.wantIdle(e, !posted[e], true)
		t.postRecv(e, 1)
		posted[e] = true
		t.wantIdle(e, false, true)
	})
	connecting, _ := t.connecting(nil)
	t.wantIdle(connecting, true, true)
	t.postRecv(connecting, 1)
	t.wantIdle(connecting, false, true)

	a, b := t.pair()
	t.wantIdle(b, true, true)
	t.postRecv(b, 1, 2)
	t.wantIdle(b, false, true)
	t.postSend(a, 3)
	udattest.Completion(t, b.Recv, 1)
	t.wantIdle(b, false, true) // one is left
	t.postSend(a, 4)
	udattest.Completion(t, b.Recv, 2)
	t.wantIdle(b, true, true)
	t.completions(a.Request, 3, 4)

	// Flushed operations are no longer outstanding.
	t.postRecv(a, 5, 6)
	t.wantIdle(a, false, true)
	t.must(b.Disconnect(udat.CloseAbrupt))
	t.disconnected(a, b)
	t.flushed(a.Recv, 5, 6)
	t.wantIdle(a, true, true)
}

func tellsRequests(t *trial) {
	a, b := t.pair()
	t.wantIdle(a, true, true)
	for name, post := range map[string]func(){
		"send":  func() { t.postRecv(b, 1); t.postSend(a, 2) },
		"read":  func() { t.postRead(a, b, 2) },
		"write": func() { t.postWrite(a, b, 2) },
	} {
		post()
		if s := t.status(a); s.RequestIdle || !s.RecvIdle {
			t.Errorf("with a %s posted, the status is %+v", name, s)
		}
		udattest.Completion(t, a.Request, 2)
		if s := t.status(a); !s.RequestIdle {
			t.Errorf("after the %s the status is %+v", name, s)
		}
	}
	udattest.Completion(t, b.Recv, 1)

	// The status is not idle until the last of several has completed.
	t.stick(a, b, 1)
	t.postRead(a, b, 2)
	t.postWrite(a, b, 3)
	t.wantIdle(a, true, false)
	t.wantIdle(b, true, true)
	t.unstick(b, 4)
	for cookie := range uint64(3) {
		t.succeededBeforeIdle(a, cookie+1)
	}
	t.wantIdle(a, true, true)
	t.unstuck(b, 4)

	// A read alone, and a write alone, behind a request that is stuck.
	for _, post := range []func(){func() { t.postRead(a, b, 2) }, func() { t.postWrite(a, b, 2) }} {
		t.stick(a, b, 1)
		post()
		t.unstick(b, 3)
		t.succeeded(a.Request, 1)
		t.succeededBeforeIdle(a, 2)
		t.wantIdle(a, true, true)
		t.unstuck(b, 3)
	}

	// Flushed operations are no longer outstanding.
	t.stick(a, b, 7)
	t.must(a.Disconnect(udat.CloseAbrupt))
	t.flushed(a.Request, 7)
	t.wantIdle(a, true, true)
	t.disconnected(a, b)
}

// succeededBeforeIdle takes the completion of a request. If the requests are idle already, it must be there.
func (t *trial) succeededBeforeIdle(e *udattest.Endpoint, cookie uint64) {
	t.Helper()
	if !t.status(e).RequestIdle {
		t.succeeded(e.Request, cookie)
		return
	}
	event, err := e.Request.Dequeue()
	for err == nil && event.Cookie >= occupier {
		event, err = e.Request.Dequeue()
	}
	if err != nil || event.Cookie != cookie || event.Status != udat.DTOSuccess {
		t.Errorf("the requests are idle, and instead of the completion of operation %d there is %+v, %v", cookie, event, err)
	}
}

// A snapshot does not wait for outstanding operations, and does not take their completions.
func isSnapshot(t *trial) {
	a, b := t.pair()
	ctx, cancel := context.WithCancel(context.Background())
	waited := t.atOnce(2, func(i int) error {
		_, _ = []*udat.EVD{a.Recv, a.Connect}[i].Wait(ctx)
		return nil
	})
	t.postRecv(a, 1)
	t.stick(a, b, 2) // does not complete yet
	slow := time.AfterFunc(udattest.Patience, func() { panic("get_status waits") })
	for range 1000 {
		if s := t.status(a); s != (udat.EPStatus{State: udat.EPStateConnected}) {
			t.Fatalf("the snapshot has changed: %+v", s)
		}
	}
	slow.Stop()
	cancel()
	waited()
	t.unstick(b, 3)
	t.succeeded(a.Request, 2)
	t.unstuck(b, 3)
}

func statusConcurrently(t *trial) {
	a, b := t.pair()
	const messages, watchers = 200, 4
	var stop atomic.Bool
	wait := t.atOnce(watchers, func(i int) error {
		for !stop.Load() {
			s, err := []*udattest.Endpoint{a, b}[i%2].GetStatus()
			if err == nil && s.State != udat.EPStateConnected {
				err = errors.New("the state is " + s.State.String())
			}
			if err != nil {
				return err
			}
			runtime.Gosched() // the messages need the processor, too
		}
		return nil
	})
	for range messages {
		t.exchange(a, b)
	}
	stop.Store(true)
	wait()
	t.wantIdle(a, true, true)
	t.wantIdle(b, true, true)
}
