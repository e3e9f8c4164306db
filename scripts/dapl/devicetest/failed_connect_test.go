package devicetest

import (
	"net"
	"net/netip"
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
