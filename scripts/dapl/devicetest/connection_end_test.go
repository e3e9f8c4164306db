package devicetest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// Faults of the published library when connections end, are aborted, or find no room for their events. Most of them end
// the process or stop its connection management.

// watch ends the process when a test takes too long: nothing can stop a call that hangs.
func watch(t *testing.T) {
	watchdog := time.AfterFunc(2*udattest.Patience, func() { panic("a call does not return") })
	t.Cleanup(func() { watchdog.Stop() })
}

func isSocketCM(a *adapter) bool { return strings.Contains(a.name, "scm") }

func (a *adapter) startConnect(t testing.TB, l *listener, e *endpoint, timeout uint32) {
	t.Helper()
	e.connectTo(t, a.address, l.qual, timeout)
}

func (q queue) empty(t testing.TB) {
	t.Helper()
	var event cgo.Event
	if r := cgo.EVDDequeue(q.EVDHandle, &event); r.Type() != cgo.QueueEmpty {
		t.Errorf("there is another event: %v (%v)", event.Number, r)
	}
}

// An endpoint that was reset connects again like a new one, and disconnects.
func TestDisconnectAfterReset(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		for range 3 {
			a.connect(t, l, active, passive, nil)
			segments := []cgo.LMRTriplet{active.memory.local(0, 64)}
			success(t, "EPPostRecv", cgo.EPPostRecv(active.EPHandle, segments, 1, cgo.CompletionDefault))
			disconnect(t, active, passive)
			active.recv.next(t)
			success(t, "EPReset", cgo.EPReset(active.EPHandle))
			success(t, "EPReset", cgo.EPReset(passive.EPHandle))
		}
	})
}

// An aborted connect is not established later.
func TestAbortedConnect(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		a.startConnect(t, l, active, cgo.TimeoutInfinite)
		request := l.request(t)
		success(t, "EPDisconnect", cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt))
		active.connect.expect(t, cgo.EventConnectionDisconnected)
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
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		requests, r := cgo.EVDCreate(a.IAHandle, 1, 0, cgo.EVDCR)
		success(t, "EVDCreate", r)
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(requests)) })
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
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, pz, done := a.newRacer(t, 1), a.newPZ(t), a.newQueue(t, cgo.EVDDTO)
		full, r := cgo.EVDCreate(a.IAHandle, 1, 0, cgo.EVDConnection)
		success(t, "EVDCreate", r)
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(full)) })
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
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, reserved := a.newEndpoint(t), a.newEndpoint(t)
		rsp, l := a.reserve(t, reserved)
		a.startConnect(t, l, active, cgo.TimeoutInfinite)
		success(t, "CRReject", cgo.CRReject(l.request(t), nil))
		active.connect.expect(t, cgo.EventConnectionPeerRejected)
		success(t, "RSPFree", cgo.RSPFree(rsp))
		success(t, "EPReset", cgo.EPReset(active.EPHandle))

		psp, qual, r := cgo.PSPCreateAny(a.IAHandle, l.requests.EVDHandle, cgo.PSPProvider)
		success(t, "PSPCreateAny", r)
		l.qual = qual
		a.startConnect(t, l, active, cgo.TimeoutInfinite)
		success(t, "CRReject", cgo.CRReject(l.request(t), nil))
		active.connect.expect(t, cgo.EventConnectionPeerRejected)
		success(t, "PSPFree", cgo.PSPFree(psp))

		// The endpoint can be used like one that never had a request.
		a.connect(t, a.listen(t), a.newEndpoint(t), reserved, nil)
	})
}

// The library finds the endpoint of a failed receive of a shared queue among others without a queue pair.
func TestSharedReceiveFails(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		var srq cgo.SRQHandle
		passive := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
			srq = a.newSRQ(t, e.pz).SRQHandle
			return cgo.EPCreateWithSRQ(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, srq, endpointAttr())
		})
		bare, r := cgo.EPCreate(a.IAHandle, 0, passive.recv.EVDHandle, passive.request.EVDHandle, passive.connect.EVDHandle, endpointAttr())
		success(t, "EPCreate", r)
		t.Cleanup(func() { success(t, "EPFree", cgo.EPFree(bare)) })
		active := a.newEndpoint(t)
		a.connect(t, a.listen(t), active, passive, nil)
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
		e := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
			return cgo.EPCreate(a.IAHandle, 0, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, endpointAttr())
		})
		wantNotReady(t, e)
		local, remote := e.memory.local(0, 8), e.memory.remote(0, 8)
		r := cgo.IBPostFetchAndAdd(e.EPHandle, 1, &local, 1, &remote, cgo.CompletionDefault)
		if r.OK() {
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

// An operation that fails ends the connection for both sides, once.
func TestFailureEndsBothSides(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		one, other := a.newEndpoint(t), a.newEndpoint(t)
		for _, pair := range [][2]*endpoint{{one, other}, {other, one}} {
			active, passive := pair[0], pair[1]
			a.connect(t, l, active, passive, nil)
			passive.postRecv(t, 1)
			// The side that has accepted fails in the second round.
			failing, peer := one, other
			from, to := failing.memory.local(0, 4), cgo.RMRTriplet{VirtualAddress: 8, SegmentLength: 4, RMRContext: 1}
			if a.iwarp { // there a write to nowhere succeeds, and one from memory of another zone fails
				from, to = a.newMemory(t, a.newPZ(t)).local(0, memorySize), peer.memory.remote(0, memorySize)
			}
			success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(failing.EPHandle, []cgo.LMRTriplet{from}, 1, &to, cgo.CompletionDefault))
			if event := failing.request.next(t); event.DTO().Status == cgo.DTOSuccess {
				t.Fatal("a write to memory that the peer does not permit succeeds")
			}
			a.expectEnd(t, failing.connect)
			peer.connect.next(t)
			for _, e := range pair {
				e.wantState(t, cgo.EPStateDisconnected)
			}
			passive.recv.expectFlushed(t, 1)
			a.connectedPair(t) // takes as long as another event would
			one.connect.empty(t)
			other.connect.empty(t)
			success(t, "EPReset", cgo.EPReset(one.EPHandle))
			success(t, "EPReset", cgo.EPReset(other.EPHandle))
		}
	})
}

// slowVariable is set in the process with slow provider threads.
const slowVariable = "DEVICETEST_SLOW"

// overwriteFreed makes the C library overwrite memory when it is freed.
const overwriteFreed = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=90"

// isSlow runs the test in a new process with slow provider threads. It reports whether this is that process.
func isSlow(t *testing.T, source string, environment ...string) bool {
	t.Helper()
	if os.Getenv(slowVariable) != "" {
		return true
	}
	library, test := buildPreload(t, source, threadDelayFlag()), "^"+t.Name()+"$"
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			runWith(t, library, test, append(environment, slowVariable+"=1", "UDAT_TEST_IA="+name)...)
		})
	}
	return false
}

// A reset while the provider's thread holds the connection lock does not take the lock away.
func TestResetBesideThread(t *testing.T) {
	if !isSlow(t, slowThreads) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		for range 2 {
			a.connect(t, l, active, passive, nil)
			success(t, "EPDisconnect", cgo.EPDisconnect(active.EPHandle, cgo.CloseGraceful))
			passive.connect.expect(t, cgo.EventConnectionDisconnected)
			success(t, "EPReset", cgo.EPReset(passive.EPHandle))
			active.connect.expect(t, cgo.EventConnectionDisconnected)
			success(t, "EPReset", cgo.EPReset(active.EPHandle))
		}
	})
}

// An accept is aborted, and its service point is freed, before the peer's answer arrives. The thread then has an event
// of a freed service point.
func TestEventAfterServicePoint(t *testing.T) {
	if !isSlow(t, slowThreads, overwriteFreed) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		requests := a.newQueue(t, cgo.EVDCR)
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		psp, qual, r := cgo.PSPCreateAny(a.IAHandle, requests.EVDHandle, cgo.PSPConsumer)
		success(t, "PSPCreateAny", r)
		l := &listener{psp, qual, requests}
		a.startConnect(t, l, active, cgo.TimeoutInfinite)
		success(t, "CRAccept", cgo.CRAccept(l.request(t), passive.EPHandle, nil))
		success(t, "EPDisconnect", cgo.EPDisconnect(passive.EPHandle, cgo.CloseAbrupt))
		success(t, "PSPFree", cgo.PSPFree(psp))
		passive.connect.next(t) // it may have been established
		active.connect.next(t)
		// The thread takes events in order.
		a.connectedPair(t)
		cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt)
	})
}

// slowTimer makes the provider's timer thread sleep whenever it has released a lock, once it has waited for a timer. No other
// thread of the provider waits for a condition and a time.
const slowTimer = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static __thread int is_timer;

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *end)
{
	static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	sigset_t blocked;

	if (wait == NULL)
		wait = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))
			dlsym(RTLD_NEXT, "pthread_cond_timedwait");
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	is_timer = sigismember(&blocked, SIGSEGV);
	return wait(cond, mutex, end);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*unlock)(pthread_mutex_t *);
	int ret;

	if (unlock == NULL)
		unlock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	ret = unlock(mutex);
	if (is_timer)
		usleep(15 * THREAD_DELAY_US);
	return ret;
}
`

// A connect's time-out has expired, and its endpoint is freed before the thread gets to it.
func TestConnectTimeoutBesideFree(t *testing.T) {
	if !isSlow(t, slowTimer, overwriteFreed) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const timeout, delay = 500 * time.Millisecond, 15 * threadDelay
		l, r := a.listen(t), a.newRacer(t, 1)
		ep := r.newEndpoint(t)
		start := time.Now()
		success(t, "EPConnect", cgo.EPConnect(ep, a.address, l.qual, uint32(timeout/time.Microsecond), nil, cgo.QOSBestEffort, cgo.ConnectDefault))
		request := l.request(t)
		// The thread checks the time late, and then holds the timer.
		time.Sleep(time.Until(start.Add(timeout + delay + delay/2)))
		success(t, "EPFree", cgo.EPFree(ep))
		time.Sleep(delay)
		success(t, "CRReject", cgo.CRReject(request, nil))
		r.drain(t)
	})
}

// slowRequests makes a provider's thread sleep when it has received a request, from the kernel (CMA) or over TCP
// (socket CM).
const slowRequests = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

struct event {
	void *id, *listen_id;
	int event;
};

int rdma_get_cm_event(void *channel, struct event **event)
{
	static int (*get)(void *, struct event **);
	int ret;

	if (get == NULL)
		get = (int (*)(void *, struct event **))dlsym(RTLD_NEXT, "rdma_get_cm_event");
	ret = get(channel, event);
	if (ret == 0 && (*event)->event == 4)
		usleep(25 * THREAD_DELAY_US);
	return ret;
}

ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
	static ssize_t (*get)(int, void *, size_t, int);
	ssize_t ret;
	sigset_t blocked;

	if (get == NULL)
		get = (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
	ret = get(fd, buffer, size, flags);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (ret > 100 && sigismember(&blocked, SIGSEGV))
		usleep(25 * THREAD_DELAY_US);
	return ret;
}
`

// A failed completion is taken from an EVD while the thread has a request for the same EVD.
func TestFailureBesideRequest(t *testing.T) {
	if !isSlow(t, slowRequests) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		both, r := cgo.EVDCreate(a.IAHandle, queueLength, 0, cgo.EVDDTO|cgo.EVDCR)
		if !r.OK() {
			t.Skipf("completions and requests do not go to one EVD: %v", r)
		}
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(both)) })
		psp, qual, r := cgo.PSPCreateAny(a.IAHandle, both, cgo.PSPConsumer)
		success(t, "PSPCreateAny", r)
		t.Cleanup(func() { success(t, "PSPFree", cgo.PSPFree(psp)) })
		failing := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
			return cgo.EPCreate(a.IAHandle, e.pz, e.recv.EVDHandle, both, e.connect.EVDHandle, endpointAttr())
		})
		peer, asking := a.newEndpoint(t), a.newEndpoint(t)
		a.connect(t, a.listen(t), failing, peer, nil)

		a.startConnect(t, &listener{qual: qual}, asking, cgo.TimeoutInfinite)
		time.Sleep(10 * threadDelay) // the thread has the request, and keeps it for longer
		from, to := failing.memory.local(0, 4), cgo.RMRTriplet{VirtualAddress: 8, SegmentLength: 4, RMRContext: 1}
		if a.iwarp { // there a write to nowhere succeeds, and one from memory of another zone fails
			from, to = a.newMemory(t, a.newPZ(t)).local(0, memorySize), peer.memory.remote(0, memorySize)
		}
		success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(failing.EPHandle, []cgo.LMRTriplet{from}, 1, &to, cgo.CompletionDefault))
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
