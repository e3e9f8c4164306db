package devicetest

import (
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

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
