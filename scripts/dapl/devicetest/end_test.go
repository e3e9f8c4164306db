package devicetest

import (
	"os"
	"path/filepath"
	"strconv"
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

// refusingEnd refuses to move queue pairs to the error state while a file exists. It may remove the file itself.
const refusingEnd = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { state = 1, error = 6 };

int ibv_modify_qp(void *qp, const int *attr, int mask) /* attr begins with the state */
{
	int (*real)(void *, const int *, int) = (int (*)(void *, const int *, int))dlsym(RTLD_NEXT, "ibv_modify_qp");
	const char *file = getenv("DEVICETEST_FAIL");

	if ((mask & state) && *attr == error && file != NULL && access(file, F_OK) == 0) {
		if (getenv("DEVICETEST_ONCE") != NULL)
			unlink(file);
		errno = EBUSY;
		return EBUSY;
	}
	return real(qp, attr, mask);
}
`

// onceVariable has the first refusal be the last.
const onceVariable = "DEVICETEST_ONCE"

// A disconnect ends although a queue pair cannot be moved to the error state, and each receive completes once.
func TestDisconnectWithoutErrorState(t *testing.T) {
	file := os.Getenv(failVariable)
	if file == "" {
		library := buildPreload(t, refusingEnd)
		for _, name := range udattest.Names(t) {
			for refusals, environment := range map[string][]string{"once": {onceVariable + "=1"}, "always": nil} {
				t.Run(name+"/"+refusals, func(t *testing.T) {
					file := filepath.Join(t.TempDir(), "fail")
					environment := append(environment, failVariable+"="+file, "UDAT_TEST_IA="+name)
					runWith(t, library, "^TestDisconnectWithoutErrorState$", environment...)
				})
			}
		}
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		refuse := func(t *testing.T) {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(file) }) // once refused, it has gone
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
				success(t, "EPReset", cgo.EPReset(active.EPHandle))
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
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

enum { state = 1, error = 6 };

int ibv_modify_qp(void *qp, int *attr, int mask);
int ibv_modify_qp(void *qp, int *attr, int mask)
{
	int (*modify)(void *, int *, int) = (int (*)(void *, int *, int))dlsym(RTLD_NEXT, "ibv_modify_qp");
	const char *file = getenv("DEVICETEST_GO_ON");
	int ret = modify(qp, attr, mask);
	int milliseconds = 20000;

	if (file != NULL && mask & state && attr[0] == error)
		while (access(file, F_OK) != 0 && milliseconds-- > 0)
			usleep(1000);
	return ret;
}
`

// goOnVariable names the file for which the end of a connection waits.
const goOnVariable = "DEVICETEST_GO_ON"

// A disconnect does not wait forever for a receive that is posted when the adapter has flushed what there was, as
// that of socket CM did.
func TestRecvDuringDisconnect(t *testing.T) {
	file := withFile(t, slowEnd, goOnVariable)
	if file == "" {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			return // the kernel ends the connection by itself
		}
		active, passive := a.connectedPair(t)
		active.postRecv(t, 1)
		done := make(chan cgo.Return, 1)
		go func() { done <- cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt) }()
		active.recv.expectFlushed(t, 1)
		active.postRecv(t, 2)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
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
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <unistd.h>

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*destroy)(struct ibv_qp *) = dlsym(RTLD_NEXT, "ibv_destroy_qp");
	int (*query)(struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *) = dlsym(RTLD_NEXT, "ibv_query_qp");
	const char *pipe = getenv("DEVICETEST_TIMERS");
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init_attr;

	if (pipe != NULL && (query(qp, &attr, IBV_QP_MIN_RNR_TIMER, &init_attr) != 0 ||
			     write(atoi(pipe), &attr.min_rnr_timer, 1) != 1))
		abort();
	return destroy(qp);
}
`

// Both sides of a connection ask the peer for the pause in DAPL_RNR_TIMER before it sends again what came without a
// receive.
func TestRNRTimer(t *testing.T) {
	const variable, wanted = "DAPL_RNR_TIMER", "DEVICETEST_RNR_TIMER"
	want, err := strconv.Atoi(os.Getenv(wanted))
	if err != nil {
		library := buildPreload(t, rnrTimers)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) {
				runWith(t, library, "^TestRNRTimer$", wanted+"=12", "UDAT_TEST_IA="+name)
				runWith(t, library, "^TestRNRTimer$", wanted+"=9", variable+"=9", "UDAT_TEST_IA="+name)
			})
		}
		return
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			return // there is no such pause
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		t.Run("connection", func(t *testing.T) {
			t.Setenv("DEVICETEST_TIMERS", strconv.Itoa(int(w.Fd()))) // until the endpoints are freed
			a.connectedPair(t)
		})
		if err := r.SetReadDeadline(time.Now().Add(udattest.Patience)); err != nil {
			t.Fatal(err)
		}
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
	watch(t)
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
			if err != nil {
				t.Fatal(err)
			}
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

// A request that is flushed although nobody ends the connection breaks it for both sides.
func TestFlushBreaksConnection(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, foreign := a.listen(t), a.newMemory(t, a.newPZ(t))
		one, other := a.newEndpoint(t), a.newEndpoint(t)
		for _, pair := range [][2]*endpoint{{one, other}, {other, one}} {
			a.connect(t, l, pair[0], pair[1], nil)
			other.postRecv(t, 1)
			success(t, "EPPostSend", cgo.EPPostSend(one.EPHandle, []cgo.LMRTriplet{foreign.local(0, memorySize)}, 2, cgo.CompletionDefault))
			if event := one.request.next(t); event.DTO().Status == cgo.DTOSuccess {
				t.Fatal("memory of another zone is sent")
			}
			a.expectEnd(t, one.connect)
			other.connect.next(t)
			other.recv.expectFlushed(t, 1)
			for _, e := range pair {
				e.wantState(t, cgo.EPStateDisconnected)
				success(t, "EPReset", cgo.EPReset(e.EPHandle))
				e.connect.empty(t)
			}
		}
	})
}

// brokenQueuePair reports an error of a queue pair when a file exists, which it removes: of the one that was made last.
const brokenQueuePair = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <unistd.h>

static struct ibv_qp *latest;

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *(*create)(struct ibv_pd *, struct ibv_qp_init_attr *) = dlsym(RTLD_NEXT, "ibv_create_qp");

	return latest = create(pd, attr);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	int (*get)(struct ibv_context *, struct ibv_async_event *) = dlsym(RTLD_NEXT, "ibv_get_async_event");
	const char *file = getenv("DEVICETEST_FAIL");

	if (file != NULL && latest != NULL && unlink(file) == 0) {
		event->element.qp = latest;
		event->event_type = IBV_EVENT_QP_FATAL;
		return 0;
	}
	return get(context, event);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	void (*ack)(struct ibv_async_event *) = dlsym(RTLD_NEXT, "ibv_ack_async_event");

	if (event->event_type != IBV_EVENT_QP_FATAL)
		ack(event);
}
`

// An error of the queue pair breaks a connection for both sides, once.
func TestQueuePairErrorBreaksConnection(t *testing.T) {
	file := withFile(t, brokenQueuePair, failVariable)
	if file == "" {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t) // the passive one was made last
		passive.postRecv(t, 1)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		// The library's thread looks for errors of the device when it is notified of a completion.
		success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(active.EPHandle, nil, 2, &cgo.RMRTriplet{}, cgo.CompletionDefault))
		active.request.next(t)
		passive.connect.expect(t, cgo.EventConnectionBroken)
		passive.recv.expectFlushed(t, 1)
		active.connect.expect(t, cgo.EventConnectionDisconnected)
		for _, e := range []*endpoint{active, passive} {
			e.wantState(t, cgo.EPStateDisconnected)
			success(t, "EPReset", cgo.EPReset(e.EPHandle))
			e.connect.empty(t)
		}
	})
}
