package devicetest

import (
	"os"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// What an attempt to connect, or an accept, that has failed leaves behind: an endpoint that can be used again.

// wantFlushed expects that an operation has been flushed already.
func (q queue) wantFlushed(t *testing.T, cookie uint64) {
	t.Helper()
	var event cgo.Event
	success(t, "EVDDequeue", cgo.EVDDequeue(q.EVDHandle, &event))
	if dto := event.DTO(); dto.UserCookie != cookie || dto.Status != cgo.DTOErrFlushed {
		t.Fatalf("operation %d completed with %v, want %d and %v", dto.UserCookie, dto.Status, cookie, cgo.DTOErrFlushed)
	}
}

// wantFailed expects an endpoint as a failed attempt leaves it, and resets it.
func (e *endpoint) wantFailed(t *testing.T) {
	t.Helper()
	e.wantState(t, cgo.EPStateDisconnected)
	e.recv.wantFlushed(t, 1) // before the event
	e.recv.wantFlushed(t, 2)
	e.postRecv(t, 3)
	e.recv.wantFlushed(t, 3)
	segments, remote := []cgo.LMRTriplet{e.memory.local(0, 8)}, e.memory.remote(0, 8)
	success(t, "EPPostSend", cgo.EPPostSend(e.EPHandle, segments, 4, cgo.CompletionSuppress))
	success(t, "EPPostRDMARead", cgo.EPPostRDMARead(e.EPHandle, segments, 5, &remote, cgo.CompletionDefault))
	extended := cgo.IBPostRDMAWriteImmed(e.EPHandle, segments, 6, &remote, 0, cgo.CompletionDefault)
	if extended.Type() == cgo.NotImplemented { // by the device
		extended = cgo.EPPostRDMAWrite(e.EPHandle, segments, 6, &remote, cgo.CompletionDefault)
	}
	success(t, "posting a write", extended)
	for cookie := uint64(4); cookie <= 6; cookie++ {
		e.request.wantFlushed(t, cookie)
	}
	e.wantIdle(t, true, true)
	e.request.wantBoundedPosts(t, func(cookie uint64) cgo.Return {
		return cgo.EPPostSend(e.EPHandle, segments, cookie, cgo.CompletionDefault)
	})
	e.recv.wantBoundedPosts(t, func(cookie uint64) cgo.Return {
		return cgo.EPPostRecv(e.EPHandle, segments, cookie, cgo.CompletionDefault)
	})
	success(t, "EPDisconnect", cgo.EPDisconnect(e.EPHandle, cgo.CloseAbrupt))
	success(t, "EPReset", cgo.EPReset(e.EPHandle))
	e.wantState(t, cgo.EPStateUnconnected)
	e.recv.empty(t)
	e.request.empty(t)
	e.connect.empty(t)
}

// wantBoundedPosts expects that what is posted is flushed, as far as the completions find room.
func (q queue) wantBoundedPosts(t *testing.T, post func(cookie uint64) cgo.Return) {
	t.Helper()
	length := uint64(q.length(t))
	for cookie := range length {
		success(t, "posting", post(cookie))
	}
	wantNoRoom(t, "posting beyond the room", post(length))
	q.wantFlushed(t, 0)
	success(t, "posting where there is room again", post(length))
	for cookie := range length {
		q.wantFlushed(t, cookie+1)
	}
	q.empty(t)
}

// However an attempt fails, its receives are flushed before the event, and its endpoint connects and accepts again.
func TestFailedAttempt(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		const soon, infinite = uint32(300 * time.Millisecond / time.Microsecond), cgo.TimeoutInfinite
		for _, attempt := range []struct {
			event   cgo.EventNumber
			qual    uint64
			timeout uint32
			end     func(t *testing.T, e *endpoint, request cgo.CRHandle)
		}{
			{cgo.EventConnectionPeerRejected, l.qual, infinite, func(t *testing.T, e *endpoint, request cgo.CRHandle) {
				success(t, "CRReject", cgo.CRReject(request, nil))
				e.connect.expect(t, cgo.EventConnectionPeerRejected)
			}},
			{cgo.EventConnectionNonPeerRejected, uint64(udattest.ConnQual()), infinite, nil},
			{cgo.EventConnectionTimedOut, l.qual, soon, func(t *testing.T, e *endpoint, request cgo.CRHandle) {
				e.connect.expect(t, cgo.EventConnectionTimedOut)
				success(t, "CRReject", cgo.CRReject(request, nil))
			}},
			{cgo.EventConnectionDisconnected, l.qual, infinite, func(t *testing.T, e *endpoint, request cgo.CRHandle) {
				e.abort(t)
				success(t, "CRReject", cgo.CRReject(request, nil))
			}},
		} {
			t.Run(attempt.event.String(), func(t *testing.T) {
				e, other := a.newEndpoint(t), a.newEndpoint(t)
				fail := func() {
					e.postRecv(t, 1)
					e.postRecv(t, 2)
					e.connectTo(t, a.address, attempt.qual, attempt.timeout)
					if attempt.end == nil {
						e.connect.expect(t, attempt.event)
					} else {
						attempt.end(t, e, l.request(t))
					}
				}
				for range 2 {
					fail()
					e.wantFailed(t)
				}
				for _, pair := range [][2]*endpoint{{e, other}, {other, e}} {
					a.connect(t, l, pair[0], pair[1], nil)
					receive(t, other, e, 5, 1)
					e.recv.completion(t, cgo.EventDTOCompletion, 5)
					disconnect(t, other, e)
					success(t, "EPReset", cgo.EPReset(e.EPHandle))
					success(t, "EPReset", cgo.EPReset(other.EPHandle))
				}
				if !a.iwarp {
					fail() // and one that is freed like this leaves nothing, either
				}
			})
		}
	})
}

// rejectAll rejects the requests that are there, whose peers have given up.
func (l *listener) rejectAll(t *testing.T) {
	t.Helper()
	for {
		var event cgo.Event
		r := cgo.EVDDequeue(l.requests.EVDHandle, &event)
		if r.Type() == cgo.QueueEmpty {
			return
		}
		success(t, "EVDDequeue", r)
		success(t, "CRReject", cgo.CRReject(event.CRArrival().CRHandle, nil))
	}
}

// expectNone expects that an endpoint ends without a connection, or with one that has ended.
func (e *endpoint) expectNone(t *testing.T) {
	t.Helper()
	if event := e.connect.next(t); event.Number == cgo.EventConnectionEstablished {
		e.connect.expect(t, cgo.EventConnectionDisconnected)
	}
	e.wantState(t, cgo.EPStateDisconnected)
}

// The peer of an attempt that is ended learns of it at once, whichever side ends it.
func TestAbortTellsPeer(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		for range 5 {
			active, passive := a.newEndpoint(t), a.newEndpoint(t)
			a.startConnect(t, l, active, cgo.TimeoutInfinite)
			request := l.request(t)
			active.abort(t)
			if cgo.CRAccept(request, passive.EPHandle, nil).OK() {
				passive.expectNone(t)
			} else {
				success(t, "CRReject", cgo.CRReject(request, nil))
			}
			success(t, "EPReset", cgo.EPReset(active.EPHandle))
			success(t, "EPReset", cgo.EPReset(passive.EPHandle))

			a.startConnect(t, l, active, cgo.TimeoutInfinite)
			success(t, "CRAccept", cgo.CRAccept(l.request(t), passive.EPHandle, nil))
			success(t, "EPDisconnect", cgo.EPDisconnect(passive.EPHandle, cgo.CloseAbrupt))
			active.expectNone(t)
		}
	})
}

// The endpoint of an accept that fails is as it was, with its receives.
func TestEndpointOfFailedAccept(t *testing.T) {
	const child, closed = "DEVICETEST_FAILED_ACCEPT", "DEVICETEST_CLOSED"
	if os.Getenv(child) == "" {
		library := buildPreload(t, closedSocket)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) {
				runWith(t, library, "^TestEndpointOfFailedAccept$", child+"=1", "UDAT_TEST_IA="+name)
			})
		}
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active := a.listen(t), a.newRacer(t, 1)
		tries := 20 // the kernel may learn late that the peer has gone
		if a.iwarp {
			tries = 1 // each takes the ten seconds of the kernel
		}
		for range tries {
			gone, passive := active.newEndpoint(t), a.newEndpoint(t)
			passive.postRecv(t, 1)
			active.connectTo(t, l, gone, "")
			request := l.request(t)
			active.end(t, gone)
			if a.iwarp {
				eventually(t, "the kernel learns that the peer has gone", func() bool { return !established(t, l.qual) })
			}
			if isSocketCM(a) {
				os.Setenv(closed, "1")
			}
			r := cgo.CRAccept(request, passive.EPHandle, nil)
			os.Unsetenv(closed)
			if r.OK() {
				cgo.EPDisconnect(passive.EPHandle, cgo.CloseAbrupt)
				continue
			}
			success(t, "CRReject", cgo.CRReject(request, nil))
			passive.wantState(t, cgo.EPStateUnconnected)
			other := a.newEndpoint(t)
			a.connect(t, l, other, passive, nil)
			if a.iwarp { // the kernel has flushed it
				passive.recv.expectFlushed(t, 1)
				return
			}
			other.send(t, 2, cgo.CompletionDefault)
			passive.recv.completion(t, cgo.EventDTOCompletion, 1)
			return
		}
		if !a.iwarp {
			t.Errorf("%d requests were accepted whose peers had gone", tries)
		}
	})
}
