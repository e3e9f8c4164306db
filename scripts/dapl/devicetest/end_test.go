package devicetest

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// Faults of the published library when connections end, are aborted, or find no room for their events. Most of them end
// the process or stop its connection management.

// An endpoint that was reset connects again like a new one, and disconnects.
func TestDisconnectAfterReset(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		for range 3 {
			a.connect(t, l, active, passive)
			segments := []cgo.LMRTriplet{active.memory.local(0, 64)}
			success(t, "EPPostRecv", cgo.EPPostRecv(active.EPHandle, segments, 1, cgo.CompletionDefault))
			disconnect(t, active, passive)
			active.recv.next(t)
			reset(t, active, passive)
		}
	})
}

// An aborted connect is not established later.
func TestAbortedConnect(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		request := a.ask(t, l, active)
		active.abort(t)
		if !cgo.CRAccept(request, passive.EPHandle, nil).OK() {
			success(t, "CRReject", cgo.CRReject(request, nil))
		} else if isSocketCM(a) { // CMA tells the peer when the endpoint is freed
			if event := passive.connect.next(t); event.Number == cgo.EventConnectionEstablished {
				t.Error("the peer is told that the connection is established")
			}
		}
		// Another connection takes as long as the answer would have taken.
		a.connectedPair(t)
		active.connect.empty(t)
		cgo.EPDisconnect(passive.EPHandle, cgo.CloseAbrupt)
	})
}

// The requests that find no room are rejected, and the service point continues.
func TestFullRequestQueue(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		requests := a.newEVD(t, 1, 0, cgo.EVDCR)
		psp, qual, r := cgo.PSPCreateAny(a.IAHandle, requests, cgo.PSPConsumer)
		success(t, "PSPCreateAny", r)
		t.Cleanup(func() { success(t, "PSPFree", cgo.PSPFree(psp)) })
		var param cgo.EVDParam
		success(t, "EVDQuery", cgo.EVDQuery(requests, cgo.EVDFieldAll, &param))

		active := a.newRacer(t, 1)
		const beyond = 4
		eps := make([]cgo.EPHandle, int(param.QLen)+beyond)
		for i := range eps {
			eps[i] = active.newEndpoint(t)
			success(t, "EPConnect", cgo.EPConnect(eps[i], a.address, qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault))
		}
		for range beyond {
			active.connect.expect(t, cgo.EventConnectionNonPeerRejected)
		}
		for answered := 0; answered < int(param.QLen); {
			var event cgo.Event
			if !cgo.EVDDequeue(requests, &event).OK() {
				time.Sleep(time.Millisecond) // the EVD has no CNO, as one that is full would not trigger it
				continue
			}
			success(t, "CRReject", cgo.CRReject(event.CRArrival().CRHandle, nil))
			active.connect.expect(t, cgo.EventConnectionPeerRejected)
			answered++
		}
		active.end(t, eps...)
		a.connectedPair(t)
	})
}

// A connection whose event finds no room ends. Other connections can be established.
func TestFullConnectionQueue(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, pz, done := a.newRacer(t, 1), a.newPZ(t), a.newQueue(t, cgo.EVDDTO)
		full := a.newEVD(t, 1, 0, cgo.EVDConnection)
		var param cgo.EVDParam
		success(t, "EVDQuery", cgo.EVDQuery(full, cgo.EVDFieldAll, &param))

		const beyond = 2
		var from, to []cgo.EPHandle
		for i := range int(param.QLen) + beyond {
			from = append(from, active.newEndpoint(t))
			success(t, "EPConnect", cgo.EPConnect(from[i], a.address, l.qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault))
			ep, r := cgo.EPCreate(a.IAHandle, pz, done.EVDHandle, done.EVDHandle, full, endpointAttr())
			success(t, "EPCreate", r)
			to = append(to, ep)
			success(t, "CRAccept", cgo.CRAccept(l.request(t), ep, nil))
			active.connect.expect(t, cgo.EventConnectionEstablished)
			if i >= int(param.QLen) {
				active.connect.expect(t, cgo.EventConnectionDisconnected)
			}
		}
		a.connectedPair(t)
		active.end(t, from...)
		for _, ep := range to {
			cgo.EPDisconnect(ep, cgo.CloseAbrupt)
			success(t, "EPFree", cgo.EPFree(ep))
		}
	})
}

// An endpoint that was reserved for a request, or made for it, is free again when the request is rejected.
func TestRejectReserved(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, reserved := a.newEndpoint(t), a.newEndpoint(t)
		rsp, l := a.reserve(t, reserved)
		reject(t, a.ask(t, l, active), active)
		success(t, "RSPFree", cgo.RSPFree(rsp))
		reset(t, active)

		psp, qual, r := cgo.PSPCreateAny(a.IAHandle, l.requests.EVDHandle, cgo.PSPProvider)
		success(t, "PSPCreateAny", r)
		l.qual = qual
		reject(t, a.ask(t, l, active), active)
		success(t, "PSPFree", cgo.PSPFree(psp))

		// The endpoint can be used like one that never had a request.
		a.connect(t, a.listen(t), a.newEndpoint(t), reserved)
	})
}

// The library finds the endpoint of a failed receive of a shared queue among others without a queue pair.
func TestSharedReceiveFails(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		passive, shared := a.newSharing(t)
		srq := shared.SRQHandle
		a.newBare(t, 0, passive.recv.EVDHandle, passive.request.EVDHandle, passive.connect.EVDHandle, endpointAttr())
		active := a.newPeer(t, passive)
		success(t, "SRQPostRecv", cgo.SRQPostRecv(srq, []cgo.LMRTriplet{passive.memory.local(0, 4)}, 1))
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 64)}, 2, cgo.CompletionDefault))
		failed := passive.recv.next(t)
		if failed.DTO().Status == cgo.DTOSuccess {
			t.Error("64 bytes were received in 4")
		}
		a.expectEnd(t, passive.connect)
		active.request.next(t)
		cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt)
	})
}

// Nothing can be posted to an endpoint without a protection zone: it has no queue pair.
func TestPostWithoutQueuePair(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		e := a.newEndpoint(t)
		bare := a.newBare(t, 0, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, endpointAttr())
		e = &endpoint{EPHandle: bare, memory: e.memory}
		wantNotReady(t, e)
		local, remote := e.memory.local(0, 8), e.memory.remote(0, 8)
		if cgo.IBPostFetchAndAdd(e.EPHandle, 1, &local, 1, &remote, cgo.CompletionDefault).OK() {
			t.Error("an endpoint without a queue pair takes an atomic operation")
		}
	})
}

// wantNotReady posts to an endpoint without a queue pair.
func wantNotReady(t *testing.T, e *endpoint) {
	t.Helper()
	segments := []cgo.LMRTriplet{e.memory.local(0, 8)}
	outcome(t, "EPPostRecv", cgo.EPPostRecv(e.EPHandle, segments, 1, cgo.CompletionDefault), cgo.InvalidState, cgo.InvalidStateEPNotReady)
	if cgo.EPPostSend(e.EPHandle, segments, 1, cgo.CompletionDefault).OK() {
		t.Error("an endpoint without a queue pair takes a send")
	}
}

// A request that fails ends the connection for both sides, once: a write that the peer does not permit, and a send that is
// flushed although nobody ends the connection.
func TestFailureEndsBothSides(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, foreign := a.listen(t), a.newMemory(t, a.newPZ(t)).local(0, memorySize)
		one, other := a.newEndpoint(t), a.newEndpoint(t)
		for name, fail := range map[string]func() cgo.Return{
			"write": func() cgo.Return { return a.failWrite(one, other, foreign) },
			"send": func() cgo.Return {
				return cgo.EPPostSend(one.EPHandle, []cgo.LMRTriplet{foreign}, 1, cgo.CompletionDefault)
			},
		} {
			// The side that has accepted fails in the second round.
			for _, pair := range [][2]*endpoint{{one, other}, {other, one}} {
				a.connect(t, l, pair[0], pair[1])
				one.postRecv(t, 1)
				other.postRecv(t, 1)
				success(t, name, fail())
				if event := one.request.next(t); event.DTO().Status == cgo.DTOSuccess {
					t.Fatalf("a %s that is not permitted succeeds", name)
				}
				a.expectEnd(t, one.connect)
				other.connect.next(t)
				one.recv.expectFlushed(t, 1)
				other.recv.expectFlushed(t, 1)
				a.connectedPair(t) // takes as long as another event would
				for _, e := range pair {
					e.wantState(t, cgo.EPStateDisconnected)
					e.connect.empty(t)
				}
				reset(t, one, other)
			}
		}
	})
}

// failWrite posts a write that fails. With iWARP one to nowhere succeeds, and one from memory of another zone fails.
func (a *adapter) failWrite(e, peer *endpoint, foreign cgo.LMRTriplet) cgo.Return {
	from, to := e.memory.local(0, 4), cgo.RMRTriplet{VirtualAddress: 8, SegmentLength: 4, RMRContext: 1}
	if a.iwarp {
		from, to = foreign, peer.memory.remote(0, memorySize)
	}
	return cgo.EPPostRDMAWrite(e.EPHandle, []cgo.LMRTriplet{from}, 1, &to, cgo.CompletionDefault)
}

// A reset while the provider's thread holds the connection lock does not take the lock away.
func TestResetBesideThread(t *testing.T) {
	preloaded(t, slowThreads, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		for range 2 {
			a.connect(t, l, active, passive)
			success(t, "EPDisconnect", cgo.EPDisconnect(active.EPHandle, cgo.CloseGraceful))
			passive.connect.expect(t, cgo.EventConnectionDisconnected)
			reset(t, passive)
			active.connect.expect(t, cgo.EventConnectionDisconnected)
			reset(t, active)
		}
	})
}

// An accept is aborted before the peer's answer arrives, and its service point is freed before the accept or behind it. The
// thread then has an event of a freed service point.
func TestEventAfterServicePoint(t *testing.T) {
	preloaded(t, slowThreads, func(t *testing.T, a *adapter) {
		for _, freedFirst := range []bool{false, true} {
			l, active, passive := a.createListener(t), a.newEndpoint(t), a.newEndpoint(t)
			request := a.ask(t, l, active)
			free := func() { success(t, "PSPFree", cgo.PSPFree(l.PSPHandle)) }
			if freedFirst {
				free()
			}
			success(t, "CRAccept", cgo.CRAccept(request, passive.EPHandle, nil))
			success(t, "EPDisconnect", cgo.EPDisconnect(passive.EPHandle, cgo.CloseAbrupt))
			if !freedFirst {
				free()
			}
			passive.connect.next(t) // it may have been established
			active.connect.next(t)
			a.connectedPair(t) // the thread takes events in order
			cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt)
		}
	}, overwriteFreed)
}

// slowTimer makes the provider's timer thread sleep whenever it has released a lock, once it has waited for a timer. No other
// thread of the provider waits for a condition and a time.
const slowTimer = `
static __thread int is_timer;

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *end)
{
	is_timer = is_provider();
	return LIBC(pthread_cond_timedwait)(cond, mutex, end);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int ret = LIBC(pthread_mutex_unlock)(mutex);

	if (is_timer)
		usleep(15 * THREAD_DELAY_US);
	return ret;
}
`

// A connect's time-out has expired, and its endpoint is freed before the thread gets to it.
func TestConnectTimeoutBesideFree(t *testing.T) {
	preloaded(t, slowTimer, func(t *testing.T, a *adapter) {
		const timeout, delay = 500 * time.Millisecond, 15 * threadDelay
		l, r := a.listen(t), a.newRacer(t, 1)
		ep := r.newEndpoint(t)
		start := time.Now()
		success(t, "EPConnect", cgo.EPConnect(ep, a.address, l.qual, uint32(timeout/time.Microsecond), nil, cgo.QOSBestEffort, cgo.ConnectDefault))
		request := l.request(t)
		// The thread checks the time late, and then holds the timer.
		time.Sleep(time.Until(start.Add(timeout + delay + delay/2)))
		success(t, "EPFree", cgo.EPFree(ep))
		time.Sleep(delay) // until the thread lets go of the timer
		success(t, "CRReject", cgo.CRReject(request, nil))
		r.drain(t)
	}, overwriteFreed)
}

// slowRequests makes a provider's thread sleep when it has received a request, from the kernel (CMA) or over TCP
// (socket CM).
const slowRequests = `
int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	int ret = NEXT(rdma_get_cm_event)(channel, event);

	if (ret == 0 && (*event)->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		usleep(25 * THREAD_DELAY_US);
	return ret;
}

ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
	ssize_t ret = NEXT(recv)(fd, buffer, size, flags);

	if (ret > 100 && is_provider())
		usleep(25 * THREAD_DELAY_US);
	return ret;
}
`

// A failed completion is taken from an EVD while the thread has a request for the same EVD.
func TestFailureBesideRequest(t *testing.T) {
	preloaded(t, slowRequests, func(t *testing.T, a *adapter) {
		both, r := cgo.EVDCreate(a.IAHandle, queueLength, 0, cgo.EVDDTO|cgo.EVDCR)
		if !r.OK() {
			t.Skipf("completions and requests do not go to one EVD: %v", r)
		}
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(both)) })
		psp, qual, r := cgo.PSPCreateAny(a.IAHandle, both, cgo.PSPConsumer)
		success(t, "PSPCreateAny", r)
		t.Cleanup(func() { success(t, "PSPFree", cgo.PSPFree(psp)) })
		failing := a.makeEndpoint(t, parts{request: both})
		peer, asking := a.newEndpoint(t), a.newEndpoint(t)
		a.connect(t, a.listen(t), failing, peer)

		a.startConnect(t, &listener{qual: qual}, asking, cgo.TimeoutInfinite)
		time.Sleep(10 * threadDelay) // the thread has the request, and keeps it for longer
		success(t, "EPPostRDMAWrite", a.failWrite(failing, peer, a.newMemory(t, a.newPZ(t)).local(0, memorySize)))
		for requests, failed := 0, 0; requests < 1 || failed < 1; {
			takeBoth(t, both, &requests, &failed)
		}
		a.expectEnd(t, failing.connect)
		asking.connect.next(t)
		cgo.EPDisconnect(peer.EPHandle, cgo.CloseAbrupt)
	})
}

// takeBoth takes an event, if there is one, from an EVD for requests and completions. It rejects a request. A
// completion must have failed.
func takeBoth(t *testing.T, evd cgo.EVDHandle, requests, failed *int) {
	t.Helper()
	var event cgo.Event
	if !cgo.EVDDequeue(evd, &event).OK() {
		return
	}
	switch event.Number {
	case cgo.EventConnectionRequest:
		*requests++
		success(t, "CRReject", cgo.CRReject(event.CRArrival().CRHandle, nil))
	case cgo.EventDTOCompletion:
		*failed++
		if event.DTO().Status == cgo.DTOSuccess {
			t.Error("a write that cannot be done has succeeded")
		}
	default:
		t.Fatalf("got the event %v", event.Number)
	}
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
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			t.Log("a message without a receive ends the connection")
			return
		}
		l, one, other := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		for _, last := range []cgo.CompletionFlags{cgo.CompletionDefault, cgo.CompletionSuppress} {
			for _, pair := range [][2]*endpoint{{one, other}, {other, one}} {
				active, passive := pair[0], pair[1]
				a.connect(t, l, active, passive)
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
				reset(t, one, other)
			}
		}
	})
}

// An abrupt disconnect, or the peer's, ends a graceful one.
func TestGracefulDisconnectEnds(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			t.Log("a message without a receive ends the connection")
			return
		}
		l, one, other := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		for _, by := range []*endpoint{one, other} {
			a.connect(t, l, one, other)
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
			reset(t, one, other)
			one.connect.empty(t)
			other.connect.empty(t)
		}
	})
}

// Without requests outstanding, a graceful disconnect ends at once, also over iWARP and with reads that were overtaken.
func TestGracefulDisconnectAfterReads(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		for range 10 {
			a.connect(t, l, active, passive)
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
				event := dequeue(t, active.request.EVDHandle)
				if event.DTO().Status != cgo.DTOSuccess {
					t.Errorf("read %d completed with %v", event.DTO().UserCookie, event.DTO().Status)
				}
			}
			active.request.empty(t)
			passive.recv.completion(t, cgo.EventDTOCompletion, 1)
			passive.connect.expect(t, cgo.EventConnectionDisconnected)
			reset(t, active, passive)
		}
	})
}

// noDisconnect makes disconnects reach nobody.
const noDisconnect = `
int rdma_disconnect(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}
`

// A graceful disconnect that the peer does not answer ends all the same.
func TestGracefulDisconnectUnanswered(t *testing.T) {
	preloaded(t, noDisconnect, func(t *testing.T, a *adapter) {
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
		reset(t, active)
		active.connect.empty(t)
	})
}

// The event of the end comes after the completions of the requests, also if the peer ends the connection.
func TestEndAfterCompletions(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, one, other := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		for range 10 {
			a.connect(t, l, one, other)
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
			reset(t, one, other)
		}
	})
}

// So it does after requests without a completion, if this side ends the connection.
func TestEndAfterSuppressed(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, one, other := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		for range 5 {
			a.connect(t, l, one, other)
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
			reset(t, one, other)
			one.request.drain(t) // they may have been flushed
		}
	})
}

// A request that is posted while the peer ends the connection, or later, completes.
func TestRequestsBesideEnd(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, one, other := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		for range 10 {
			a.connect(t, l, one, other)
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
			reset(t, one, other)
		}
	})
}

// refusingEnd refuses to move queue pairs to the error state while a file exists. It may remove the file itself.
const refusingEnd = `
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_ERR && told()) {
		if (getenv("DEVICETEST_ONCE") != NULL)
			unlink(told_file());
		return errno = EBUSY;
	}
	return NEXT(ibv_modify_qp)(qp, attr, mask);
}
`

// onceVariable has the first refusal be the last.
const onceVariable = "DEVICETEST_ONCE"

// A disconnect ends although a queue pair cannot be moved to the error state, and each receive completes once.
func TestDisconnectWithoutErrorState(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		library := buildPreload(t, refusingEnd)
		for _, name := range udattest.Names(t) {
			for refusals, environment := range map[string][]string{"once": {onceVariable + "=1"}, "always": nil} {
				t.Run(name+"/"+refusals, func(t *testing.T) {
					runWith(t, library, "^TestDisconnectWithoutErrorState$", append(environment, "UDAT_TEST_IA="+name)...)
				})
			}
		}
		return
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		refuse := func(t *testing.T) {
			tell(t, "")
			t.Cleanup(func() { _ = os.Remove(os.Getenv(fileVariable)) }) // once refused, it has gone
		}
		const receives = 4
		for _, flags := range []cgo.CloseFlags{cgo.CloseGraceful, cgo.CloseAbrupt} {
			t.Run(map[cgo.CloseFlags]string{cgo.CloseGraceful: "graceful", cgo.CloseAbrupt: "abrupt"}[flags], func(t *testing.T) {
				active, passive := a.connectedPair(t)
				for cookie := range uint64(receives) {
					active.postRecv(t, cookie)
				}
				refuse(t)
				success(t, "EPDisconnect", cgo.EPDisconnect(active.EPHandle, flags))
				active.connect.expect(t, cgo.EventConnectionDisconnected)
				active.wantState(t, cgo.EPStateDisconnected)
				for cookie := range uint64(receives) {
					active.recv.expectFlushed(t, cookie)
				}
				reset(t, active)
				active.recv.empty(t)
				active.connect.empty(t)
				if os.Getenv(onceVariable) != "" {
					passive.connect.expect(t, cgo.EventConnectionDisconnected)
				}
			})
		}
		t.Run("free", func(t *testing.T) {
			e := a.newEndpoint(t)
			ep, r := cgo.EPCreate(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, endpointAttr())
			success(t, "EPCreate", r)
			for cookie := range uint64(receives) {
				r := cgo.EPPostRecv(ep, []cgo.LMRTriplet{e.memory.local(0, 64)}, cookie, cgo.CompletionDefault)
				success(t, "EPPostRecv", r)
			}
			refuse(t)
			success(t, "EPFree", cgo.EPFree(ep))
			e.recv.empty(t) // the completions went with the endpoint
		})
	})
}

// slowEnd stops who moves a queue pair to the error state, when that is done, until a file exists.
const slowEnd = `
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int ret = NEXT(ibv_modify_qp)(qp, attr, mask);

	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_ERR)
		await_told();
	return ret;
}
`

// A disconnect does not wait forever for a receive that is posted when the adapter has flushed what there was, as
// that of socket CM did.
func TestRecvDuringDisconnect(t *testing.T) {
	preloaded(t, slowEnd, func(t *testing.T, a *adapter) {
		if a.iwarp {
			return // the kernel ends the connection by itself
		}
		active, passive := a.connectedPair(t)
		active.postRecv(t, 1)
		done := make(chan cgo.Return, 1)
		go func() { done <- cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt) }()
		active.recv.expectFlushed(t, 1)
		active.postRecv(t, 2)
		tell(t, "")
		select {
		case r := <-done:
			success(t, "EPDisconnect", r)
		case <-udattest.Context(t).Done():
			t.Fatal("the disconnect does not return")
		}
		active.recv.expectFlushed(t, 2)
		active.connect.expect(t, cgo.EventConnectionDisconnected)
		passive.connect.expect(t, cgo.EventConnectionDisconnected)
	})
}

// rnrTimers writes the pauses that a queue pair asks its peer for to a pipe when it is destroyed.
const rnrTimers = `
int ibv_destroy_qp(struct ibv_qp *qp)
{
	const char *pipe = getenv("DEVICETEST_TIMERS");
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init_attr;

	if (pipe != NULL && (NEXT(ibv_query_qp)(qp, &attr, IBV_QP_MIN_RNR_TIMER, &init_attr) != 0 ||
			     write(atoi(pipe), &attr.min_rnr_timer, 1) != 1))
		abort();
	return NEXT(ibv_destroy_qp)(qp);
}
`

// Both sides of a connection ask the peer for the pause in DAPL_RNR_TIMER before it sends again what came without a
// receive.
func TestRNRTimer(t *testing.T) {
	const variable = "DAPL_RNR_TIMER"
	if os.Getenv(childVariable) == "" {
		library := buildPreload(t, rnrTimers)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) {
				runWith(t, library, "^TestRNRTimer$", "UDAT_TEST_IA="+name)
				runWith(t, library, "^TestRNRTimer$", variable+"=9", "UDAT_TEST_IA="+name)
			})
		}
		return
	}
	want := 12
	if os.Getenv(variable) != "" {
		want = 9
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			return // there is no such pause
		}
		r, w, err := os.Pipe()
		do(t, err)
		defer r.Close()
		defer w.Close()
		t.Run("connection", func(t *testing.T) {
			t.Setenv("DEVICETEST_TIMERS", strconv.Itoa(int(w.Fd()))) // until the endpoints are freed
			a.connectedPair(t)
		})
		do(t, r.SetReadDeadline(time.Now().Add(udattest.Patience)))
		for range 2 {
			var timer [1]byte
			if _, err := r.Read(timer[:]); err != nil {
				t.Fatal(err)
			}
			if int(timer[0]) != want {
				t.Errorf("the timer is %d, want %d", timer[0], want)
			}
		}
	})
}

// A message whose receive is posted late arrives soon after that, whichever side sends.
func TestLateReceive(t *testing.T) {
	const rounds, soon = 5, 300 * time.Millisecond // the longest pause is 655 ms
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			return // a message without a receive ends the connection
		}
		counter := "/sys/class/infiniband/" + a.device + "/ports/1/hw_counters/rcvd_rnr_err"
		if _, err := os.Stat(counter); err != nil {
			t.Logf("nothing to test: only soft-RoCE counts messages without a receive: %v", err)
			return
		}
		refusals := func() string {
			count, err := os.ReadFile(counter)
			do(t, err)
			return string(count)
		}
		active, passive := a.connectedPair(t)
		for _, side := range []struct{ from, to *endpoint }{{active, passive}, {passive, active}} {
			fastest := udattest.Patience
			for range rounds { // the machine may be busy
				before := refusals()
				success(t, "EPPostSend", cgo.EPPostSend(side.from.EPHandle, nil, 1, cgo.CompletionDefault))
				eventually(t, "a message is refused", func() bool { return refusals() != before })
				start := time.Now()
				side.to.postRecv(t, 2)
				side.from.request.completion(t, cgo.EventDTOCompletion, 1)
				fastest = min(fastest, time.Since(start))
				side.to.recv.completion(t, cgo.EventDTOCompletion, 2)
			}
			if fastest > soon {
				t.Errorf("a message takes %v after its receive is there", fastest)
			}
		}
	})
}

// brokenQueuePair reports an error of a queue pair when a file exists, which it removes: of the one that was made last.
const brokenQueuePair = `
static struct ibv_qp *latest;

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return latest = NEXT(ibv_create_qp)(pd, attr);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	if (latest == NULL || unlink(told_file()) != 0)
		return NEXT(ibv_get_async_event)(context, event);
	event->element.qp = latest;
	event->event_type = IBV_EVENT_QP_FATAL;
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	if (event->event_type != IBV_EVENT_QP_FATAL)
		NEXT(ibv_ack_async_event)(event);
}
`

// An error of the queue pair breaks a connection for both sides, once, and also if the peer ends it first.
func TestQueuePairErrorBreaksConnection(t *testing.T) {
	preloaded(t, brokenQueuePair, func(t *testing.T, a *adapter) {
		async := a.newAsyncQueue(t)
		for _, peerEnds := range []bool{false, true} {
			active, passive := a.connectedPair(t) // the passive one was made last
			passive.postRecv(t, 1)
			tell(t, "")
			// The library's thread looks for errors of the device when it is notified of a completion.
			success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(active.EPHandle, nil, 2, &cgo.RMRTriplet{}, cgo.CompletionDefault))
			active.request.next(t)
			async.expect(t, cgo.EventAsyncErrorEPBroken)
			if peerEnds {
				success(t, "EPDisconnect", cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt))
			}
			passive.connect.expect(t, cgo.EventConnectionBroken)
			passive.recv.expectFlushed(t, 1)
			active.connect.expect(t, cgo.EventConnectionDisconnected)
			for _, e := range []*endpoint{active, passive} {
				e.wantState(t, cgo.EPStateDisconnected)
				reset(t, e)
				e.connect.empty(t)
			}
		}
	})
}
