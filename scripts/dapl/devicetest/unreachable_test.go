package devicetest

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// quickNeighbours has the kernel look for a neighbor three times in 0.3 seconds instead of 3, and CMA look twice as long.
func quickNeighbours(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("/proc/sys/net/ipv[46]/neigh/*/retrans_time_ms")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("100"), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.WriteFile(file, before, 0) })
	}
	t.Setenv("DAPL_CM_ARP_TIMEOUT_MS", "300")
	t.Setenv("DAPL_CM_ARP_RETRY_COUNT", "2")
}

// An address that no host has is unreachable. An attempt with a short time-out does not learn that, whatever earlier ones
// have the kernel do.
func TestUnreachableHost(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	quickNeighbours(t)
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		address := a.noHost()
		for range 10 {
			e := a.newEndpoint(t)
			e.connectTo(t, address, 1, uint32(70*time.Millisecond/time.Microsecond))
			e.connect.expect(t, cgo.EventConnectionTimedOut)
		}
		e := a.newEndpoint(t)
		e.connectTo(t, address, 1, cgo.TimeoutInfinite)
		e.connect.expect(t, cgo.EventConnectionUnreachable)
		e.wantState(t, cgo.EPStateDisconnected)
		e.connect.empty(t)
	})
}

// failedSocket makes sockets fail with the error that a variable has.
const failedSocket = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>

int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	int (*next)(int, int, int, void *, socklen_t *) = (int (*)(int, int, int, void *, socklen_t *))dlsym(RTLD_NEXT, "getsockopt");
	const char *error = getenv("DEVICETEST_ERROR");
	int result = next(fd, level, name, value, size);

	if (error != NULL && name == SO_ERROR)
		*(int *)value = atoi(error);
	return result;
}
`

// The error of the socket decides what the event is.
func TestErrorsOfSocket(t *testing.T) {
	if !isSlow(t, failedSocket) {
		return
	}
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l, e := a.listen(t), a.newEndpoint(t)
		for _, failure := range []struct {
			error syscall.Errno
			event cgo.EventNumber
		}{
			{syscall.EHOSTUNREACH, cgo.EventConnectionUnreachable},
			{syscall.ENETUNREACH, cgo.EventConnectionUnreachable},
			{syscall.ETIMEDOUT, cgo.EventConnectionUnreachable},
			{syscall.ECONNREFUSED, cgo.EventConnectionNonPeerRejected},
			{syscall.ECONNRESET, cgo.EventConnectionNonPeerRejected},
			{syscall.ENOBUFS, cgo.EventConnectionBroken},
		} {
			t.Setenv("DEVICETEST_ERROR", strconv.Itoa(int(failure.error)))
			a.startConnect(t, l, e, cgo.TimeoutInfinite)
			e.connect.expect(t, failure.event)
			success(t, "EPReset", cgo.EPReset(e.EPHandle))
		}
	})
}
