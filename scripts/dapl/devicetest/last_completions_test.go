package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// The event of the end comes after the completions of the requests, also if the peer ends the connection.
func TestEndAfterCompletions(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		one, other := a.newEndpoint(t), a.newEndpoint(t)
		for range 10 {
			a.connect(t, l, one, other, nil)
			posted := uint64(8)
			if a.iwarp { // a message without a receive would end the connection
				posted = 0
			}
			for cookie := range posted {
				one.send(t, cookie, cgo.CompletionDefault)
			}
			success(t, "EPDisconnect", cgo.EPDisconnect(other.EPHandle, cgo.CloseAbrupt))
			one.connect.expect(t, cgo.EventConnectionDisconnected)
			for cookie := range posted {
				dequeueCookie(t, one.request.EVDHandle, cookie)
			}
			other.connect.expect(t, cgo.EventConnectionDisconnected)
			success(t, "EPReset", cgo.EPReset(one.EPHandle))
			success(t, "EPReset", cgo.EPReset(other.EPHandle))
		}
	})
}

// So it does after requests without a completion, if this side ends the connection.
func TestEndAfterSuppressed(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		one, other := a.newEndpoint(t), a.newEndpoint(t)
		for range 5 {
			a.connect(t, l, one, other, nil)
			remote := other.memory.remote(0, 8)
			for cookie := range uint64(3) {
				success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(one.EPHandle, []cgo.LMRTriplet{one.memory.local(0, 8)}, cookie, &remote,
					cgo.CompletionSuppress))
			}
			disconnect(t, one, other)
			_, _, idle, r := cgo.EPGetStatus(one.EPHandle)
			success(t, "EPGetStatus", r)
			if idle != 1 {
				t.Error("requests are outstanding after the end")
			}
			success(t, "EPReset", cgo.EPReset(one.EPHandle))
			success(t, "EPReset", cgo.EPReset(other.EPHandle))
			one.request.drain(t) // they may have been flushed
		}
	})
}

// A request that is posted while the peer ends the connection, or later, completes.
func TestRequestsBesideEnd(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		one, other := a.newEndpoint(t), a.newEndpoint(t)
		for range 10 {
			a.connect(t, l, one, other, nil)
			remote, posted, completed := other.memory.remote(0, 8), 0, 0
			post := func() {
				if cgo.EPPostRDMAWrite(one.EPHandle, []cgo.LMRTriplet{one.memory.local(0, 8)}, 1, &remote, cgo.CompletionDefault).OK() {
					posted++
				}
			}
			var event cgo.Event
			done := make(chan cgo.Return, 1)
			go func() { done <- cgo.EPDisconnect(other.EPHandle, cgo.CloseAbrupt) }()
			for !cgo.EVDDequeue(one.connect.EVDHandle, &event).OK() {
				post()
				for cgo.EVDDequeue(one.request.EVDHandle, &event).OK() {
					completed++
				}
			}
			success(t, "EPDisconnect", <-done)
			for range 4 {
				post()
			}
			for ; completed < posted; completed++ {
				one.request.next(t)
			}
			one.request.empty(t)
			one.wantIdle(t, true, true)
			other.connect.expect(t, cgo.EventConnectionDisconnected)
			success(t, "EPReset", cgo.EPReset(one.EPHandle))
			success(t, "EPReset", cgo.EPReset(other.EPHandle))
		}
	})
}
