package devicetest

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

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
