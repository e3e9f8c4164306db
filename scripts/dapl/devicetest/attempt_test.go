package devicetest

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// Faults of attempts to connect, and of accepts, that go on, or leave something behind, when they have ended.

// connectTo starts an attempt at any address and qualifier.
func (e *endpoint) connectTo(t testing.TB, address *cgo.SockAddr, qual uint64, timeout uint32) {
	t.Helper()
	success(t, "EPConnect", cgo.EPConnect(e.EPHandle, address, qual, timeout, nil, cgo.QOSBestEffort, cgo.ConnectDefault))
}

// abort ends an attempt.
func (e *endpoint) abort(t testing.TB) {
	t.Helper()
	success(t, "EPDisconnect", cgo.EPDisconnect(e.EPHandle, cgo.CloseAbrupt))
	e.connect.expect(t, cgo.EventConnectionDisconnected)
}

// eventually waits for what has no event.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(udattest.Patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in %v: %s", udattest.Patience, what)
		}
	}
}

// refusedListen makes every second attempt of a process to listen fail, as if somebody had the port.
const refusedListen = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>

int rdma_listen(void *id, int backlog);
int rdma_listen(void *id, int backlog)
{
	int (*listen)(void *, int) = (int (*)(void *, int))dlsym(RTLD_NEXT, "rdma_listen");
	static int calls;

	if (++calls % 2 == 0) {
		errno = EADDRINUSE;
		return -1;
	}
	return listen(id, backlog);
}
`

// A service point that has connections, was freed, and could not listen again, listens when it can.
func TestListenAfterFailure(t *testing.T) {
	if !isSlow(t, refusedListen, overwriteFreed) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if isSocketCM(a) {
			t.Log("it listens on a socket")
			return
		}
		l := &listener{qual: uint64(udattest.ConnQual()), requests: a.newQueue(t, cgo.EVDCR)}
		create := func() (r cgo.Return) {
			l.PSPHandle, r = cgo.PSPCreate(a.IAHandle, l.qual, l.requests.EVDHandle, cgo.PSPConsumer)
			return r
		}
		success(t, "PSPCreate", create())
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		a.connect(t, l, active, passive, nil)
		success(t, "PSPFree", cgo.PSPFree(l.PSPHandle))
		outcome(t, "PSPCreate", create(), cgo.ConnQualInUse, cgo.NoSubtype)
		success(t, "PSPCreate", create())
		a.connect(t, l, a.newEndpoint(t), a.newEndpoint(t), nil)
		success(t, "PSPFree", cgo.PSPFree(l.PSPHandle))
	})
}

// blackHole makes a TCP socket that answers no connection, as its queue is full. answer closes it, so that the kernel
// refuses them.
func blackHole(t *testing.T, a *adapter, qual uint64) (answer func()) {
	t.Helper()
	family, at := syscall.AF_INET, syscall.Sockaddr(nil)
	if addr := a.address.Addr(); addr.Is4() {
		at = &syscall.SockaddrInet4{Port: int(qual), Addr: addr.As4()}
	} else {
		family, at = syscall.AF_INET6, &syscall.SockaddrInet6{Port: int(qual), Addr: addr.As16()}
	}
	open := func() int {
		fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	listening := open()
	if err := syscall.Bind(listening, at); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(listening, 0); err != nil {
		t.Fatal(err)
	}
	fds := []int{listening}
	for range 3 {
		fd := open()
		fds = append(fds, fd)
		if err := syscall.Connect(fd, at); err != nil && err != syscall.EINPROGRESS {
			t.Fatal(err)
		}
	}
	return func() {
		for _, fd := range fds {
			syscall.Close(fd)
		}
	}
}

// asking returns how many TCP connections to an address wait for their answer.
func asking(t *testing.T, a *adapter, qual uint64) int {
	t.Helper()
	const sent = "02" // SYN_SENT
	n := 0
	for line := range strings.Lines(tcpConnections(t)) {
		fields := strings.Fields(line)
		if len(fields) > 3 && fields[3] == sent && strings.HasSuffix(fields[2], hexPort(qual)) {
			n++
		}
	}
	return n
}

// tcpConnections are the kernel's tables of TCP connections.
func tcpConnections(t *testing.T) string {
	t.Helper()
	ipv4, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	ipv6, err := os.ReadFile("/proc/net/tcp6")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(ipv4) + string(ipv6)
}

func hexPort(qual uint64) string {
	const digits = "0123456789ABCDEF"
	return string([]byte{':', digits[qual>>12&15], digits[qual>>8&15], digits[qual>>4&15], digits[qual&15]})
}

// Calls do not wait while the kernel waits for the host of another connection.
func TestCallsBesideSilentHost(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if !a.iwarp {
			t.Log("no call waits for a host")
			return
		}
		qual := uint64(udattest.ConnQual())
		answer := blackHole(t, a, qual)
		others := asking(t, a, qual)
		e := a.newEndpoint(t)
		e.connectTo(t, a.address, qual, cgo.TimeoutInfinite)
		eventually(t, "the kernel connects", func() bool { return asking(t, a, qual) > others })

		late := time.AfterFunc(udattest.Patience/2, answer)
		e.abort(t)
		a.listen(t)
		other := a.newEndpoint(t)
		other.connectTo(t, a.address, qual, cgo.TimeoutInfinite)
		other.abort(t)
		success(t, "EPReset", cgo.EPReset(e.EPHandle))
		if !late.Stop() {
			t.Fatal("the calls have returned when the host has answered")
		}
		answer()
		a.connect(t, a.listen(t), e, a.newEndpoint(t), nil)
		other.connect.empty(t)
	})
}

// An endpoint whose attempt is ended is freed, or reset, before the attempt has its answer, which the program itself may
// have to give. Nothing that the adapter still has refers to it.
func TestEndUnanswered(t *testing.T) {
	if !isSlow(t, slowThreads, overwriteFreed) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, freed, reset := a.listen(t), a.newRacer(t, 1), a.newEndpoint(t)
		ep := freed.newEndpoint(t)
		freed.connectTo(t, l, ep, "")
		first := l.request(t)
		freed.end(t, ep)
		reset.postRecv(t, 1)
		reset.connectTo(t, a.address, l.qual, cgo.TimeoutInfinite)
		second := l.request(t)
		reset.abort(t)
		reset.postRecv(t, 2)
		success(t, "EPReset", cgo.EPReset(reset.EPHandle))
		if a.iwarp && !established(t, l.qual) {
			t.Error("the calls have waited for the kernel to give up")
		}
		reset.recv.expectFlushed(t, 1)
		reset.recv.expectFlushed(t, 2)
		success(t, "CRReject", cgo.CRReject(first, nil))
		success(t, "CRReject", cgo.CRReject(second, nil))
		a.connect(t, l, reset, a.newEndpoint(t), nil)
		reset.connect.empty(t)
		freed.drain(t)
	})
}

// An endpoint whose connection found no room for its event is reset at once, and leaves nothing on the service point.
func TestResetAfterFullConnectionQueue(t *testing.T) {
	if !isSlow(t, slowThreads, overwriteFreed) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		full, r := cgo.EVDCreate(a.IAHandle, 1, 0, cgo.EVDConnection|cgo.EVDSoftware)
		success(t, "EVDCreate", r)
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(full)) })
		for cgo.EVDPostSE(full, cgo.EventSoftware, 0).OK() {
		}
		l, active, done := a.listen(t), a.newEndpoint(t), a.newQueue(t, cgo.EVDDTO)
		ep, r := cgo.EPCreate(a.IAHandle, active.pz, done.EVDHandle, done.EVDHandle, full, endpointAttr())
		success(t, "EPCreate", r)
		passive := &endpoint{EPHandle: ep}
		active.connectTo(t, a.address, l.qual, cgo.TimeoutInfinite)
		success(t, "CRAccept", cgo.CRAccept(l.request(t), ep, nil))
		eventually(t, "the connection ends", func() bool { return passive.state(t) == cgo.EPStateDisconnected })
		success(t, "EPReset", cgo.EPReset(ep))
		active.connect.expect(t, cgo.EventConnectionEstablished)
		active.connect.expect(t, cgo.EventConnectionDisconnected)
		success(t, "EPFree", cgo.EPFree(ep))
		// A record that was left would keep the service point, and so the adapter.
	})
}

// An attempt that is ended before its peer's address is known has no further event.
func TestAbortWhileResolving(t *testing.T) {
	watch(t)
	// The patience of CMA, in milliseconds and in attempts.
	t.Setenv("DAPL_CM_ARP_TIMEOUT_MS", "200")
	t.Setenv("DAPL_CM_ARP_RETRY_COUNT", "2")
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if isSocketCM(a) {
			t.Log("the kernel resolves addresses for TCP")
			return
		}
		absent := a.noHost()
		first, second := a.newEndpoint(t), a.newEndpoint(t)
		first.connectTo(t, absent, 1, cgo.TimeoutInfinite)
		first.abort(t)
		second.connectTo(t, absent, 1, cgo.TimeoutInfinite)
		second.connect.next(t)
		// The first began earlier.
		first.connect.empty(t)
	})
}

// An attempt that has timed out is not established later.
func TestTimedOutConnect(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const timeout = uint32(time.Second / time.Microsecond)
		l := a.listen(t)
		active, passive := a.newRacer(t, 1), a.newEndpoint(t)
		ep := active.newEndpoint(t)
		success(t, "EPConnect", cgo.EPConnect(ep, a.address, l.qual, timeout, nil, cgo.QOSBestEffort, cgo.ConnectDefault))
		request := l.request(t)
		active.connect.expect(t, cgo.EventConnectionTimedOut)
		accepted := cgo.CRAccept(request, passive.EPHandle, nil).OK()
		if !accepted {
			success(t, "CRReject", cgo.CRReject(request, nil))
		}
		// Another connection takes as long as the answer.
		a.connectedPair(t)
		active.connect.empty(t)
		success(t, "EPFree", cgo.EPFree(ep))
		// With iWARP the side that accepts has a connection at once.
		if accepted && !a.iwarp {
			if event := passive.connect.next(t); event.Number == cgo.EventConnectionEstablished {
				t.Error("the peer is told that the connection is established")
			}
		}
		cgo.EPDisconnect(passive.EPHandle, cgo.CloseAbrupt)
	})
}

// closedSocket makes the answers of socket CM fail while a variable is set, as if the peer had reset the TCP connection
// just before.
const closedSocket = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

ssize_t writev(int fd, const struct iovec *iov, int count)
{
	ssize_t (*original)(int, const struct iovec *, int) = (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");

	if (getenv("DEVICETEST_CLOSED") != NULL) {
		errno = EPIPE;
		return -1;
	}
	return original(fd, iov, count);
}
`

// An accept fails if the peer has gone, and says so. Its endpoint can be reset, and connects.
func TestResetAfterFailedAccept(t *testing.T) {
	const child, closed = "DEVICETEST_FAILED_ACCEPT", "DEVICETEST_CLOSED"
	if os.Getenv(child) == "" {
		library := buildPreload(t, closedSocket)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) {
				runWith(t, library, "^TestResetAfterFailedAccept$", child+"=1", "UDAT_TEST_IA="+name)
			})
		}
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active := a.listen(t), a.newRacer(t, 1)
		const tries = 20 // the kernel may learn late that the peer has gone
		for range tries {
			gone, passive := active.newEndpoint(t), a.newEndpoint(t)
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
			outcome(t, "CRAccept", r, cgo.InvalidHandle, cgo.InvalidHandleCR)
			passive.wantState(t, cgo.EPStateUnconnected)
			success(t, "CRReject", cgo.CRReject(request, nil))
			success(t, "EPReset", cgo.EPReset(passive.EPHandle))
			a.connect(t, l, passive, a.newEndpoint(t), nil)
			return
		}
		t.Errorf("%d requests were accepted whose peers had gone", tries)
	})
}

// established reports whether this machine has a TCP connection to one of its ports, as under those of iWARP.
func established(t *testing.T, port uint64) bool {
	return regexp.MustCompile(fmt.Sprintf(`(?m)^ *\d+: [0-9A-F]+:%04X [0-9A-F]+:[0-9A-F]{4} 01 `, port)).MatchString(tcpConnections(t))
}

// The time-out of an attempt that was ended does not end the next one.
func TestTimeoutOfEarlierAttempt(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const timeout = uint32(2 * time.Second / time.Microsecond)
		l := a.listen(t)
		e, other := a.newEndpoint(t), a.newEndpoint(t)
		e.connectTo(t, a.address, l.qual, timeout)
		first := l.request(t)
		e.abort(t)
		success(t, "CRReject", cgo.CRReject(first, nil))
		success(t, "EPReset", cgo.EPReset(e.EPHandle))
		e.connectTo(t, a.address, l.qual, cgo.TimeoutInfinite)
		second := l.request(t)
		other.connectTo(t, a.address, l.qual, timeout)
		third := l.request(t)
		// Its time-out began later than that of the first attempt.
		other.connect.expect(t, cgo.EventConnectionTimedOut)
		e.connect.empty(t)
		success(t, "CRReject", cgo.CRReject(second, nil))
		e.connect.expect(t, cgo.EventConnectionPeerRejected)
		success(t, "CRReject", cgo.CRReject(third, nil))
	})
}

// A service point that is freed while a request waits goes when that is rejected.
func TestRejectAfterServicePoint(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		requests, active := a.newQueue(t, cgo.EVDCR), a.newEndpoint(t)
		psp, qual, r := cgo.PSPCreateAny(a.IAHandle, requests.EVDHandle, cgo.PSPConsumer)
		success(t, "PSPCreateAny", r)
		l := &listener{psp, qual, requests}
		active.connectTo(t, a.address, qual, cgo.TimeoutInfinite)
		request := l.request(t)
		success(t, "PSPFree", cgo.PSPFree(psp))
		success(t, "CRReject", cgo.CRReject(request, nil))
		active.connect.expect(t, cgo.EventConnectionPeerRejected)
		// The adapter is closed gracefully.
	})
}

// So it does when the accept is aborted.
func TestAbortAfterServicePoint(t *testing.T) {
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
		active.connectTo(t, a.address, qual, cgo.TimeoutInfinite)
		request := l.request(t)
		success(t, "PSPFree", cgo.PSPFree(psp))
		success(t, "CRAccept", cgo.CRAccept(request, passive.EPHandle, nil))
		success(t, "EPDisconnect", cgo.EPDisconnect(passive.EPHandle, cgo.CloseAbrupt))
		passive.connect.next(t) // it may have been established
		active.connect.next(t)
		// The thread takes events in order.
		a.connectedPair(t)
		cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt)
	})
}

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

// postRecv posts a receive, which a call that waits for it needs to see flushed.
func (e *endpoint) postRecv(t testing.TB, cookie uint64) {
	t.Helper()
	success(t, "EPPostRecv", cgo.EPPostRecv(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 64)}, cookie, cgo.CompletionDefault))
}

// expectFlushed expects the completion of a receive that was flushed. Those are events of the extensions.
func (q queue) expectFlushed(t testing.TB, cookie uint64) {
	t.Helper()
	event := q.next(t)
	if dto := event.DTO(); dto.UserCookie != cookie || dto.Status == cgo.DTOSuccess {
		t.Fatalf("operation %d completed with %v, want operation %d to be flushed", dto.UserCookie, dto.Status, cookie)
	}
}

// A connect that fails at once leaves nothing behind: the next connection is the endpoint's only one.
func TestConnectAfterFailedConnect(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		multicast := cgo.NewSockAddr(netip.AddrFrom4([4]byte{224, 0, 0, 1})) // TCP has no route to it
		for range 2 {
			r := cgo.EPConnect(active.EPHandle, &multicast, l.qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault)
			outcome(t, "EPConnect to a multicast address", r, cgo.InvalidAddress, cgo.InvalidAddressUnreachable)
			active.wantState(t, cgo.EPStateUnconnected)
			active.connect.empty(t)
		}
		active.postRecv(t, 1)
		a.connect(t, l, active, passive, nil)
		disconnect(t, active, passive)
		active.recv.expectFlushed(t, 1)
	})
}

// unreachable makes connect fail in a provider's threads, which block all signals.
const unreachable = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	static int (*next)(int, const struct sockaddr *, socklen_t);
	sigset_t blocked;

	if (next == NULL)
		next = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (sigismember(&blocked, SIGSEGV)) {
		errno = ENETUNREACH;
		return -1;
	}
	return next(fd, address, size);
}
`

// An attempt that is refused, or reset, is started again. If that fails, it ends with an event.
func TestConnectAgainFails(t *testing.T) {
	if !isSlow(t, unreachable) {
		return
	}
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		resetting, err := net.ListenTCP("tcp", a.tcpAddress(l.qual+1))
		if err != nil {
			t.Fatal(err)
		}
		defer resetting.Close()
		go func() {
			for {
				conn, err := resetting.AcceptTCP()
				if err != nil {
					return
				}
				conn.SetDeadline(time.Now().Add(udattest.Patience))
				conn.Read(make([]byte, 1)) // the request has come
				conn.SetLinger(0)
				conn.Close()
			}
		}()
		e, passive := a.newEndpoint(t), a.newEndpoint(t)
		for _, offset := range []uint64{1, 2} { // nobody listens at the second
			a.startConnect(t, &listener{qual: l.qual + offset}, e, cgo.TimeoutInfinite)
			e.connect.expect(t, cgo.EventConnectionUnreachable)
			e.wantState(t, cgo.EPStateDisconnected)
			success(t, "EPReset", cgo.EPReset(e.EPHandle))
		}
		a.connect(t, l, e, passive, nil)
		disconnect(t, e, passive)
	})
}

// slowRefusal makes the first connect of a process last until a file exists, and fail then.
const slowRefusal = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	int (*next)(int, const struct sockaddr *, socklen_t);
	const char *file = getenv("DEVICETEST_GO_ON");
	static int refused;
	int milliseconds = 20000;

	if (file == NULL || address->sa_family == AF_UNIX || refused++) {
		next = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
		return next(fd, address, size);
	}
	while (access(file, F_OK) != 0 && milliseconds-- > 0)
		usleep(1000);
	errno = ENETUNREACH;
	return -1;
}
`

// A receive that is posted while an attempt fails at once has its segments when a change of the endpoint posts it again.
func TestReceiveBesideFailedConnect(t *testing.T) {
	file := withFile(t, slowRefusal, goOnVariable)
	if file == "" {
		return
	}
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		done := make(chan cgo.Return, 1)
		go func() {
			done <- cgo.EPConnect(active.EPHandle, a.address, l.qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault)
		}()
		eventually(t, "the endpoint connects", func() bool { return active.state(t) == cgo.EPStateActiveConnectionPending })
		for cookie := range uint64(2) {
			active.postPieces(t, active.memory, cookie)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		outcome(t, "EPConnect", <-done, cgo.InvalidAddress, cgo.InvalidAddressUnreachable)
		active.modify(t, modifyLengths, func(p *cgo.EPParam) { p.EPAttr.MaxRecvDTOs++ })
		a.connect(t, l, active, passive, nil)
		exchange(t, passive, active, passive.memory, active.memory, passive.request, active.recv, 2)
		disconnect(t, active, passive)
	})
}

// silentAccept makes accepts succeed without an answer to the peer while a variable is set.
const silentAccept = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/uio.h>

int rdma_accept(void *id, void *param);
int rdma_accept(void *id, void *param)
{
	int (*accept)(void *, void *) = (int (*)(void *, void *))dlsym(RTLD_NEXT, "rdma_accept");

	return getenv("DEVICETEST_SILENT") ? 0 : accept(id, param);
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
	ssize_t (*original)(int, const struct iovec *, int) = (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
	ssize_t n = 0;

	if (getenv("DEVICETEST_SILENT") == NULL)
		return original(fd, iov, count);
	while (count-- > 0)
		n += iov++->iov_len;
	return n;
}
`

// An accepted connection that the peer does not complete ends in time. Its endpoint can be reset, and connects.
func TestAcceptTimeout(t *testing.T) {
	const child, silent = "DEVICETEST_ACCEPT_TIMEOUT", "DEVICETEST_SILENT"
	if os.Getenv(child) == "" {
		library := buildPreload(t, silentAccept)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) {
				runWith(t, library, "^TestAcceptTimeout$", child+"=1", "DAPL_ACCEPT_TIMEOUT_MS=300", "UDAT_TEST_IA="+name)
			})
		}
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		passive.postRecv(t, 1)
		passive.postRecv(t, 2)
		a.startConnect(t, l, active, cgo.TimeoutInfinite)
		request := l.request(t)
		os.Setenv(silent, "1")
		begin := time.Now()
		success(t, "CRAccept", cgo.CRAccept(request, passive.EPHandle, nil))
		os.Unsetenv(silent)
		passive.wantState(t, cgo.EPStateCompletionPending)
		passive.connect.expect(t, cgo.EventConnectionAcceptCompletionError)
		if took := time.Since(begin); took < 300*time.Millisecond {
			t.Errorf("the accept has timed out after %v", took)
		}
		passive.wantFailed(t)
		if active.state(t) == cgo.EPStateActiveConnectionPending { // socket CM tries again
			cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt)
		}
		active.connect.next(t)
		success(t, "EPReset", cgo.EPReset(active.EPHandle))
		a.connect(t, a.listen(t), active, passive, nil) // as another request of the attempt can still be on its way to l
	})
}

// An accept whose peer has given up fails, or ends with the event of such an accept.
func TestAcceptOfGivenUp(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		a.startConnect(t, l, active, cgo.TimeoutInfinite)
		request := l.request(t)
		active.abort(t)
		if r := cgo.CRAccept(request, passive.EPHandle, nil); r.OK() {
			if a.iwarp { // which does not wait for the peer
				passive.connect.expect(t, cgo.EventConnectionEstablished)
				passive.connect.next(t)
			} else {
				passive.connect.expect(t, cgo.EventConnectionAcceptCompletionError)
			}
			passive.wantState(t, cgo.EPStateDisconnected)
		} else {
			outcome(t, "CRAccept", r, cgo.InvalidHandle, cgo.InvalidHandleCR)
			cgo.CRReject(request, nil)
		}
		for _, e := range []*endpoint{active, passive} {
			success(t, "EPReset", cgo.EPReset(e.EPHandle))
		}
		a.connect(t, l, active, passive, nil)
	})
}

// An attempt ends in time, too, if the peer's host has no answer, or if a stranger takes the connection and says nothing.
func TestTimeoutOfSilentPeer(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const timeout = uint32(300 * time.Millisecond / time.Microsecond)
		e, qual, address := a.newEndpoint(t), uint64(udattest.ConnQual()), a.address
		switch {
		case isSocketCM(a):
			stranger, err := net.ListenTCP("tcp", a.tcpAddress(qual))
			if err != nil {
				t.Fatal(err)
			}
			defer stranger.Close()
		case a.iwarp:
			defer blackHole(t, a, qual)()
		default:
			address = a.noHost()
		}
		e.postRecv(t, 1)
		e.connectTo(t, address, qual, timeout)
		e.connect.expect(t, cgo.EventConnectionTimedOut)
		e.recv.wantFlushed(t, 1)
		if a.iwarp { // a reset would wait for the host
			return
		}
		success(t, "EPReset", cgo.EPReset(e.EPHandle))
		a.connect(t, a.listen(t), e, a.newEndpoint(t), nil)
		e.connect.empty(t)
	})
}
