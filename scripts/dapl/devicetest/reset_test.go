package devicetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// refusingKernel makes the kernel refuse queue pairs, and changes of their state, while a file exists: one of them, if the
// file has its name.
const refusingKernel = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refuses(const char *call)
{
	const char *file = getenv("DEVICETEST_REFUSE");
	int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
	char name[16];
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, name, sizeof(name));
	close(fd);
	return n == 0 || (n == (ssize_t)strlen(call) && memcmp(name, call, n) == 0);
}

void *ibv_create_qp(void *pd, void *attr);
void *ibv_create_qp(void *pd, void *attr)
{
	void *(*create)(void *, void *) = (void *(*)(void *, void *))dlsym(RTLD_NEXT, "ibv_create_qp");

	if (refuses("create")) {
		errno = ENOMEM;
		return NULL;
	}
	return create(pd, attr);
}

int ibv_modify_qp(void *qp, void *attr, int mask);
int ibv_modify_qp(void *qp, void *attr, int mask)
{
	int (*modify)(void *, void *, int) = (int (*)(void *, void *, int))dlsym(RTLD_NEXT, "ibv_modify_qp");

	if (refuses("modify"))
		return errno = ENOMEM;
	return modify(qp, attr, mask);
}
`

// refuseVariable names the file that makes the kernel refuse.
const refuseVariable = "DEVICETEST_REFUSE"

// A reset that finds no room fails. The endpoint can then be freed, or reset when there is room again.
func TestResetFails(t *testing.T) {
	file := os.Getenv(refuseVariable)
	if file == "" {
		library := buildPreload(t, refusingKernel)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "refuse")
				runWith(t, library, "^TestResetFails$", refuseVariable+"="+file, "UDAT_TEST_IA="+name)
			})
		}
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		a.connect(t, l, active, passive, nil)
		disconnect(t, active, passive)

		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, e := range []*endpoint{active, passive, active} {
			if r := cgo.EPReset(e.EPHandle); r.OK() {
				t.Error("a reset without room succeeds")
			}
			e.wantState(t, cgo.EPStateDisconnected)
			if !isSocketCM(a) { // which keeps the queue pair
				wantNotReady(t, e)
			}
			if cgo.EPConnect(e.EPHandle, a.address, l.qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault).OK() {
				t.Error("an endpoint that was not reset connects")
			}
			success(t, "EPDisconnect", cgo.EPDisconnect(e.EPHandle, cgo.CloseAbrupt))
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}

		success(t, "EPReset", cgo.EPReset(active.EPHandle))
		active.wantState(t, cgo.EPStateUnconnected)
		a.connect(t, l, active, a.newEndpoint(t), nil)
	})
}

// A receive is flushed when the endpoint of a rejected attempt is reset, and nothing waits for it later.
func TestResetFlushes(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, e := a.listen(t), a.newEndpoint(t)
		for cookie := range uint64(3) {
			e.postRecv(t, cookie)
			a.startConnect(t, l, e, cgo.TimeoutInfinite)
			success(t, "CRReject", cgo.CRReject(l.request(t), nil))
			e.connect.expect(t, cgo.EventConnectionPeerRejected)
			success(t, "EPReset", cgo.EPReset(e.EPHandle))
			e.recv.expectFlushed(t, cookie)
		}
		a.connect(t, l, e, a.newEndpoint(t), nil)
	})
}
