package devicetest

import (
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// send posts a message.
func (e *endpoint) send(t *testing.T, cookie uint64, flags cgo.CompletionFlags) {
	t.Helper()
	success(t, "EPPostSend", cgo.EPPostSend(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 8)}, cookie, flags))
}

// wantDraining expects that a graceful disconnect waits.
func (e *endpoint) wantDraining(t *testing.T) {
	t.Helper()
	begin := time.Now()
	success(t, "EPDisconnect", cgo.EPDisconnect(e.EPHandle, cgo.CloseGraceful))
	if took := time.Since(begin); took > udattest.Patience/4 {
		t.Errorf("the disconnect blocks for %v", took)
	}
	e.wantState(t, cgo.EPStateDisconnectPending)
	if r := cgo.EPPostSend(e.EPHandle, nil, 99, cgo.CompletionDefault); r.Type() != cgo.InvalidState {
		t.Errorf("a post after the disconnect returns %v", r)
	}
	success(t, "EPDisconnect again", cgo.EPDisconnect(e.EPHandle, cgo.CloseGraceful))
	time.Sleep(300 * time.Millisecond) // longer than the library waits for anything but requests
	e.wantState(t, cgo.EPStateDisconnectPending)
	e.connect.empty(t)
}

// A graceful disconnect lets requests complete first, those without a completion, too.
func TestGracefulDisconnect(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			t.Log("a message without a receive ends the connection")
			return
		}
		l := a.listen(t)
		one, other := a.newEndpoint(t), a.newEndpoint(t)
		for _, last := range []cgo.CompletionFlags{cgo.CompletionDefault, cgo.CompletionSuppress} {
			for _, pair := range [][2]*endpoint{{one, other}, {other, one}} {
				active, passive := pair[0], pair[1]
				a.connect(t, l, active, passive, nil)
				one.send(t, 1, cgo.CompletionDefault)
				one.send(t, 2, last)
				one.wantDraining(t)
				other.postRecv(t, 3)
				other.postRecv(t, 4)
				one.connect.expect(t, cgo.EventConnectionDisconnected)
				one.wantState(t, cgo.EPStateDisconnected)
				dequeueCookie(t, one.request.EVDHandle, 1) // before the event
				if last == cgo.CompletionDefault {
					dequeueCookie(t, one.request.EVDHandle, 2)
				}
				one.request.empty(t)
				other.recv.completion(t, cgo.EventDTOCompletion, 3)
				other.recv.completion(t, cgo.EventDTOCompletion, 4)
				other.connect.expect(t, cgo.EventConnectionDisconnected)
				success(t, "EPReset", cgo.EPReset(one.EPHandle))
				success(t, "EPReset", cgo.EPReset(other.EPHandle))
			}
		}
	})
}

// An abrupt disconnect, or the peer's, ends a graceful one.
func TestGracefulDisconnectEnds(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			t.Log("a message without a receive ends the connection")
			return
		}
		l := a.listen(t)
		one, other := a.newEndpoint(t), a.newEndpoint(t)
		for _, by := range []*endpoint{one, other} {
			a.connect(t, l, one, other, nil)
			for cookie := range uint64(4) {
				one.send(t, cookie, cgo.CompletionDefault)
			}
			one.wantDraining(t)
			success(t, "EPDisconnect", cgo.EPDisconnect(by.EPHandle, cgo.CloseAbrupt))
			one.connect.expect(t, cgo.EventConnectionDisconnected)
			for cookie := range uint64(4) {
				if event := dequeueCookie(t, one.request.EVDHandle, cookie); event.DTO().Status == cgo.DTOSuccess {
					t.Errorf("message %d has arrived", cookie)
				}
			}
			other.connect.expect(t, cgo.EventConnectionDisconnected)
			success(t, "EPReset", cgo.EPReset(one.EPHandle))
			success(t, "EPReset", cgo.EPReset(other.EPHandle))
			one.connect.empty(t)
			other.connect.empty(t)
		}
	})
}

// Without requests outstanding, a graceful disconnect ends at once, also over iWARP and with reads that were overtaken.
func TestGracefulDisconnectAfterReads(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		for range 10 {
			a.connect(t, l, active, passive, nil)
			passive.postRecv(t, 1)
			remote := passive.memory.remote(0, memorySize)
			for cookie := range uint64(2) {
				success(t, "EPPostRDMARead", cgo.EPPostRDMARead(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, memorySize)},
					cookie, &remote, cgo.CompletionDefault))
			}
			active.send(t, 2, cgo.CompletionSuppress)
			success(t, "EPDisconnect", cgo.EPDisconnect(active.EPHandle, cgo.CloseGraceful))
			active.connect.expect(t, cgo.EventConnectionDisconnected)
			for range 2 {
				var event cgo.Event
				success(t, "EVDDequeue", cgo.EVDDequeue(active.request.EVDHandle, &event))
				if event.DTO().Status != cgo.DTOSuccess {
					t.Errorf("read %d completed with %v", event.DTO().UserCookie, event.DTO().Status)
				}
			}
			active.request.empty(t)
			passive.recv.completion(t, cgo.EventDTOCompletion, 1)
			passive.connect.expect(t, cgo.EventConnectionDisconnected)
			success(t, "EPReset", cgo.EPReset(active.EPHandle))
			success(t, "EPReset", cgo.EPReset(passive.EPHandle))
		}
	})
}

// noDisconnect makes disconnects reach nobody.
const noDisconnect = `
int rdma_disconnect(void *id);
int rdma_disconnect(void *id)
{
	(void)id;
	return 0;
}
`

// A graceful disconnect that the peer does not answer ends all the same.
func TestGracefulDisconnectUnanswered(t *testing.T) {
	if !isSlow(t, noDisconnect) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		active.postRecv(t, 1)
		begin := time.Now()
		success(t, "EPDisconnect", cgo.EPDisconnect(active.EPHandle, cgo.CloseGraceful))
		active.connect.expect(t, cgo.EventConnectionDisconnected)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("the library waits %v for the peer", took)
		}
		active.wantState(t, cgo.EPStateDisconnected)
		active.recv.expectFlushed(t, 1)
		cgo.EPDisconnect(passive.EPHandle, cgo.CloseAbrupt)
		passive.connect.next(t)
		success(t, "EPReset", cgo.EPReset(active.EPHandle))
		active.connect.empty(t)
	})
}
