package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// Faults of attempts to connect, and of accepts, that go on, or leave something behind, when they have ended.

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
			t.Skip("it listens on a socket")
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
