package devicetest

import (
	"fmt"
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
