package devicetest

import (
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// Faults of the published library when connections end, are aborted, or find no room for their events.

// forEachConnected runs a test in some rounds with endpoints that it connects: the first is active in each other round. The
// test ends the connection. The endpoints are reset then, and have no further event of it.
func forEachConnected(t *testing.T, rounds int, test func(t *testing.T, a *adapter, one, other *endpoint, round int)) {
	t.Helper()
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, one, other := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		for round, active, passive := 0, one, other; round < rounds; round, active, passive = round+1, passive, active {
			a.connect(t, l, active, passive)
			test(t, a, one, other, round)
			reset(t, one, other)
			one.connect.empty(t)
			other.connect.empty(t)
		}
	})
}

// end begins to disconnect.
func (e *endpoint) end(t testing.TB, flags cgo.CloseFlags) {
	t.Helper()
	success(t, "EPDisconnect", cgo.EPDisconnect(e.EPHandle, flags))
}

// wantDisconnected expects that a disconnect, of whichever side, has ended the connection.
func wantDisconnected(t testing.TB, endpoints ...*endpoint) {
	t.Helper()
	for _, e := range endpoints {
		e.connect.expect(t, cgo.EventConnectionDisconnected)
	}
}

// An endpoint that was reset connects again like a new one, and disconnects.
func TestDisconnectAfterReset(t *testing.T) {
	forEachConnected(t, 3, func(t *testing.T, _ *adapter, one, other *endpoint, _ int) {
		one.postRecv(t, 1)
		disconnect(t, one, other)
		one.recv.next(t)
	})
}

// The requests that find no room are rejected, and the service point continues.
func TestFullRequestQueue(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const beyond = 4
		l := a.listenOn(t, queue{EVDHandle: a.newEVD(t, 1, 0, cgo.EVDCR)})
		active, length := a.newRacer(t, 1), int(l.requests.length(t))
		eps := make([]cgo.EPHandle, length+beyond)
		for i := range eps {
			eps[i] = active.newEndpoint(t)
			active.connectTo(t, l, eps[i], "")
		}
		for range beyond {
			active.connect.expect(t, cgo.EventConnectionNonPeerRejected)
		}
		for range length { // one that is full would not trigger a CNO
			var event cgo.Event
			eventually(t, "a request", func() bool { return cgo.EVDDequeue(l.requests.EVDHandle, &event).OK() })
			success(t, "CRReject", cgo.CRReject(event.CRArrival().CRHandle, nil))
			active.connect.expect(t, cgo.EventConnectionPeerRejected)
		}
		active.end(t, eps...)
		a.connectedPair(t)
	})
}

// A connection whose event finds no room ends. Other connections can be established.
func TestFullConnectionQueue(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active, pz, done := a.listen(t), a.newRacer(t, 1), a.newPZ(t), a.newQueue(t, cgo.EVDDTO)
		full := a.newEVD(t, 1, 0, cgo.EVDConnection)
		length := queue{EVDHandle: full}.length(t)
		const beyond = 2
		for i := range length + beyond {
			from := active.newEndpoint(t)
			defer active.end(t, from)
			active.connectTo(t, l, from, "")
			to := a.newBare(t, pz, done.EVDHandle, done.EVDHandle, full, endpointAttr())
			defer cgo.EPDisconnect(to, cgo.CloseAbrupt)
			success(t, "CRAccept", cgo.CRAccept(l.request(t), to, nil))
			active.connect.expect(t, cgo.EventConnectionEstablished)
			if i >= length {
				active.connect.expect(t, cgo.EventConnectionDisconnected)
			}
		}
		a.connectedPair(t)
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
		a.newBare(t, 0, passive.recv.EVDHandle, passive.request.EVDHandle, passive.connect.EVDHandle, endpointAttr())
		active := a.newPeer(t, passive)
		success(t, "SRQPostRecv", cgo.SRQPostRecv(shared.SRQHandle, []cgo.LMRTriplet{passive.memory.local(0, 4)}, 1))
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 64)}, 2, cgo.CompletionDefault))
		passive.recv.expectFlushed(t, 1) // 64 bytes do not go into 4
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
		check(t, !cgo.IBPostFetchAndAdd(e.EPHandle, 1, &local, 1, &remote, cgo.CompletionDefault).OK(), "an endpoint without a queue pair takes an atomic operation")
	})
}

// wantNotReady posts to an endpoint without a queue pair.
func wantNotReady(t *testing.T, e *endpoint) {
	t.Helper()
	segments := []cgo.LMRTriplet{e.memory.local(0, 8)}
	outcome(t, "EPPostRecv", cgo.EPPostRecv(e.EPHandle, segments, 1, cgo.CompletionDefault), cgo.InvalidState, cgo.InvalidStateEPNotReady)
	check(t, !cgo.EPPostSend(e.EPHandle, segments, 1, cgo.CompletionDefault).OK(), "an endpoint without a queue pair takes a send")
}

// A request that fails ends the connection for both sides, once: a write that the peer does not permit, and a send that is
// flushed although nobody ends the connection.
func TestFailureEndsBothSides(t *testing.T) {
	forEachConnected(t, 4, func(t *testing.T, a *adapter, one, other *endpoint, round int) {
		foreign := a.newMemory(t, a.newPZ(t)).local(0, memorySize)
		one.postRecv(t, 1)
		other.postRecv(t, 1)
		if round < 2 {
			success(t, "EPPostRDMAWrite", a.failWrite(one, other, foreign))
		} else {
			success(t, "EPPostSend", cgo.EPPostSend(one.EPHandle, []cgo.LMRTriplet{foreign}, 1, cgo.CompletionDefault))
		}
		one.request.expectFlushed(t, 1)
		a.expectEnd(t, one.connect)
		other.connect.next(t)
		one.recv.expectFlushed(t, 1)
		other.recv.expectFlushed(t, 1)
		a.connectedPair(t) // takes as long as another event would
		for _, e := range []*endpoint{one, other} {
			e.wantState(t, cgo.EPStateDisconnected)
			e.connect.empty(t)
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
			active.end(t, cgo.CloseGraceful)
			for _, e := range []*endpoint{passive, active} {
				wantDisconnected(t, e)
				reset(t, e)
			}
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
			if freedFirst {
				success(t, "PSPFree", cgo.PSPFree(l.PSPHandle))
			}
			success(t, "CRAccept", cgo.CRAccept(request, passive.EPHandle, nil))
			passive.end(t, cgo.CloseAbrupt)
			if !freedFirst {
				success(t, "PSPFree", cgo.PSPFree(l.PSPHandle))
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

// slowRequests makes a thread of a provider sleep that has received a request, from the kernel or over TCP.
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
		both := queue{EVDHandle: a.newEVD(t, queueLength, 0, cgo.EVDDTO|cgo.EVDCR)}
		failing, l := a.makeEndpoint(t, parts{request: both.EVDHandle}), a.listenOn(t, both)
		peer, asking := a.newEndpoint(t), a.newEndpoint(t)
		a.connect(t, a.listen(t), failing, peer)

		asking.connectTo(t, a.address, l.qual, cgo.TimeoutInfinite)
		time.Sleep(10 * threadDelay) // the thread has the request, and keeps it for longer
		success(t, "EPPostRDMAWrite", a.failWrite(failing, peer, a.newMemory(t, a.newPZ(t)).local(0, memorySize)))
		for requests, failed := 0, 0; requests < 1 || failed < 1; {
			event, there := both.poll(t)
			switch {
			case !there:
			case event.Number == cgo.EventConnectionRequest:
				requests++
				success(t, "CRReject", cgo.CRReject(event.CRArrival().CRHandle, nil))
			case event.Number == cgo.EventDTOCompletion && event.DTO().Status != cgo.DTOSuccess:
				failed++
			default:
				t.Fatalf("got the event %+v, want a request, or the failure of the write", event)
			}
		}
		a.expectEnd(t, failing.connect)
		asking.connect.next(t)
		cgo.EPDisconnect(peer.EPHandle, cgo.CloseAbrupt)
	})
}

// wantDraining expects that a graceful disconnect waits.
func (e *endpoint) wantDraining(t *testing.T) {
	t.Helper()
	begin := time.Now()
	e.end(t, cgo.CloseGraceful)
	took := time.Since(begin)
	check(t, took <= udattest.Patience/4, "the disconnect blocks for %v", took)
	e.wantState(t, cgo.EPStateDisconnectPending)
	same(t, "a post after the disconnect", cgo.EPPostSend(e.EPHandle, nil, 99, cgo.CompletionDefault).Type(), cgo.InvalidState)
	e.end(t, cgo.CloseGraceful)
	time.Sleep(300 * time.Millisecond) // longer than the library waits for anything but requests
	e.wantState(t, cgo.EPStateDisconnectPending)
	e.connect.empty(t)
}

// A graceful disconnect lets requests complete first, those without a completion, too.
func TestGracefulDisconnect(t *testing.T) {
	forEachConnected(t, 4, func(t *testing.T, a *adapter, one, other *endpoint, round int) {
		if a.iwarp { // a message without a receive ends the connection
			disconnect(t, one, other)
			return
		}
		last := []cgo.CompletionFlags{cgo.CompletionDefault, cgo.CompletionSuppress}[round/2]
		one.send(t, 1, cgo.CompletionDefault)
		one.send(t, 2, last)
		one.wantDraining(t)
		other.postRecv(t, 3)
		other.postRecv(t, 4)
		wantDisconnected(t, one)
		one.wantState(t, cgo.EPStateDisconnected)
		dequeueCookie(t, one.request.EVDHandle, 1) // before the event
		if last == cgo.CompletionDefault {
			dequeueCookie(t, one.request.EVDHandle, 2)
		}
		one.request.empty(t)
		other.recv.completion(t, cgo.EventDTOCompletion, 3)
		other.recv.completion(t, cgo.EventDTOCompletion, 4)
		wantDisconnected(t, other)
	})
}

// An abrupt disconnect, or the peer's, ends a graceful one.
func TestGracefulDisconnectEnds(t *testing.T) {
	forEachConnected(t, 4, func(t *testing.T, a *adapter, one, other *endpoint, round int) {
		if a.iwarp {
			disconnect(t, one, other)
			return
		}
		for cookie := range uint64(4) {
			one.send(t, cookie, cgo.CompletionDefault)
		}
		one.wantDraining(t)
		by := []*endpoint{one, other}[round/2]
		by.end(t, cgo.CloseAbrupt)
		wantDisconnected(t, one)
		for cookie := range uint64(4) {
			event := dequeueCookie(t, one.request.EVDHandle, cookie)
			check(t, event.DTO().Status != cgo.DTOSuccess, "message %d has arrived", cookie)
		}
		wantDisconnected(t, other)
	})
}

// Without requests outstanding, a graceful disconnect ends at once, also over iWARP and with reads that were overtaken.
func TestGracefulDisconnectAfterReads(t *testing.T) {
	forEachConnected(t, 10, func(t *testing.T, _ *adapter, one, other *endpoint, _ int) {
		other.postRecv(t, 1)
		one.postRead(t, other, memorySize, 0)
		one.postRead(t, other, memorySize, 1)
		one.send(t, 2, cgo.CompletionSuppress)
		one.end(t, cgo.CloseGraceful)
		wantDisconnected(t, one)
		for range 2 {
			event := dequeue(t, one.request.EVDHandle)
			check(t, event.DTO().Status == cgo.DTOSuccess, "read %d completed with %v", event.DTO().UserCookie, event.DTO().Status)
		}
		one.request.empty(t)
		other.recv.completion(t, cgo.EventDTOCompletion, 1)
		wantDisconnected(t, other)
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
		active.end(t, cgo.CloseGraceful)
		wantDisconnected(t, active)
		took := time.Since(begin)
		check(t, took <= 5*time.Second, "the library waits %v for the peer", took)
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
	forEachConnected(t, 10, func(t *testing.T, a *adapter, one, other *endpoint, _ int) {
		posted := uint64(8)
		if a.iwarp { // a message without a receive would end the connection
			posted = 0
		}
		for cookie := range posted {
			one.send(t, cookie, cgo.CompletionDefault)
		}
		other.end(t, cgo.CloseAbrupt)
		wantDisconnected(t, one)
		for cookie := range posted {
			dequeueCookie(t, one.request.EVDHandle, cookie)
		}
		wantDisconnected(t, other)
	})
}

// So it does after requests without a completion, if this side ends the connection.
func TestEndAfterSuppressed(t *testing.T) {
	forEachConnected(t, 5, func(t *testing.T, _ *adapter, one, other *endpoint, _ int) {
		for cookie := range uint64(3) {
			one.postWrite(t, other, 8, cookie, cgo.CompletionSuppress)
		}
		disconnect(t, one, other)
		one.wantIdle(t, true, true)
		reset(t, one)
		one.request.drain(t) // they may have been flushed
	})
}

// A request that is posted while the peer ends the connection, or later, completes.
func TestRequestsBesideEnd(t *testing.T) {
	forEachConnected(t, 10, func(t *testing.T, _ *adapter, one, other *endpoint, _ int) {
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
		wantDisconnected(t, other)
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

// A disconnect ends although a queue pair cannot be moved to the error state, once or ever, and each receive completes once.
func TestDisconnectWithoutErrorState(t *testing.T) {
	const once, receives = "DEVICETEST_ONCE", 4
	preloadedWith(t, refusingEnd, []string{"", once + "=1"}, func(t *testing.T, a *adapter) {
		refuse := func(t *testing.T) {
			tell(t, "")
			t.Cleanup(func() { _ = os.Remove(os.Getenv(fileVariable)) }) // once refused, it has gone
		}
		for name, flags := range map[string]cgo.CloseFlags{"graceful": cgo.CloseGraceful, "abrupt": cgo.CloseAbrupt} {
			t.Run(name, func(t *testing.T) {
				active, passive := a.connectedPair(t)
				for cookie := range uint64(receives) {
					active.postRecv(t, cookie)
				}
				refuse(t)
				active.end(t, flags)
				wantDisconnected(t, active)
				active.wantState(t, cgo.EPStateDisconnected)
				for cookie := range uint64(receives) {
					active.recv.expectFlushed(t, cookie)
				}
				reset(t, active)
				active.recv.empty(t)
				active.connect.empty(t)
				if os.Getenv(once) != "" {
					wantDisconnected(t, passive)
				}
			})
		}
		t.Run("free", func(t *testing.T) {
			e := a.newEndpoint(t)
			freed := *e
			freed.EPHandle = must(cgo.EPCreate(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, endpointAttr()))(t)
			for cookie := range uint64(receives) {
				freed.postRecv(t, cookie)
			}
			refuse(t)
			success(t, "EPFree", cgo.EPFree(freed.EPHandle))
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

// A disconnect does not wait for a receive that is posted when the adapter has flushed what there was.
func TestRecvDuringDisconnect(t *testing.T) {
	preloaded(t, slowEnd, func(t *testing.T, a *adapter) {
		if a.iwarp { // the kernel ends the connection by itself
			return
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
		wantDisconnected(t, active, passive)
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

// Both sides ask the peer for the pause in DAPL_RNR_TIMER before it sends again what came without a receive.
func TestRNRTimer(t *testing.T) {
	const variable = "DAPL_RNR_TIMER"
	preloadedWith(t, rnrTimers, []string{"", variable + "=9"}, func(t *testing.T, a *adapter) {
		if a.iwarp { // there is no such pause
			return
		}
		want := byte(12)
		if os.Getenv(variable) != "" {
			want = 9
		}
		r, w := newPipe(t)
		t.Run("connection", func(t *testing.T) {
			t.Setenv("DEVICETEST_TIMERS", strconv.Itoa(int(w.Fd()))) // until the endpoints are freed
			a.connectedPair(t)
		})
		var timers [2]byte
		_, err := io.ReadFull(r, timers[:])
		check(t, err == nil && timers == [2]byte{want, want}, "the timers are %v, want %d: %v", timers, want, err)
	})
}

// A message whose receive is posted late arrives soon after that, whichever side sends.
func TestLateReceive(t *testing.T) {
	const rounds, soon = 5, 300 * time.Millisecond // the longest pause is 655 ms
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp { // a message without a receive ends the connection
			return
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
		for from, to := range map[*endpoint]*endpoint{active: passive, passive: active} {
			fastest := udattest.Patience
			for range rounds { // the machine may be busy
				before := refusals()
				success(t, "EPPostSend", cgo.EPPostSend(from.EPHandle, nil, 1, cgo.CompletionDefault))
				eventually(t, "a message is refused", func() bool { return refusals() != before })
				start := time.Now()
				to.postRecv(t, 2)
				from.request.completion(t, cgo.EventDTOCompletion, 1)
				fastest = min(fastest, time.Since(start))
				to.recv.completion(t, cgo.EventDTOCompletion, 2)
			}
			check(t, fastest <= soon, "a message takes %v after its receive is there", fastest)
		}
	})
}

// An error of the queue pair breaks a connection for both sides, once, and also if the peer ends it first.
func TestQueuePairErrorBreaksConnection(t *testing.T) {
	onPort(t, func(t *testing.T, name string) {
		p, a := newPort(t), openAdapter(t, name)
		for _, peerEnds := range []bool{false, true} {
			active, passive := a.connectedPair(t)
			passive.postRecv(t, 1)
			os.Unsetenv("DEVICETEST_EVENT")
			p.toggle(t)
			p.becomes(t, 1) // QP_FATAL, of the endpoint that was made last
			if peerEnds {
				success(t, "EPDisconnect", cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt))
			}
			passive.connect.expect(t, cgo.EventConnectionBroken)
			passive.recv.expectFlushed(t, 1)
			wantDisconnected(t, active)
			for _, e := range []*endpoint{active, passive} {
				e.wantState(t, cgo.EPStateDisconnected)
				reset(t, e)
				e.connect.empty(t)
			}
		}
	})
}
