package devicetest

import (
	"os"
	"testing"

	"github.com/goudat/goudat/cgo"
)

// refusingKernel makes the kernel refuse queue pairs, changes of their state, and completion queues, while a file exists:
// one of them, if the file has its name.
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

void *ibv_create_cq(void *device, int length, void *context, void *channel, int vector);
void *ibv_create_cq(void *device, int length, void *context, void *channel, int vector)
{
	void *(*create)(void *, int, void *, void *, int) =
		(void *(*)(void *, int, void *, void *, int))dlsym(RTLD_NEXT, "ibv_create_cq");

	if (refuses("queue")) {
		errno = ENOMEM;
		return NULL;
	}
	return create(device, length, context, channel, vector);
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
	file := withFile(t, refusingKernel, refuseVariable)
	if file == "" {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		a.connect(t, l, active, passive, nil)
		disconnect(t, active, passive)

		ready := a.newEndpoint(t)
		ready.postPieces(t, ready.memory, 0)

		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := cgo.EPReset(ready.EPHandle); r.OK() {
			t.Error("a reset without room takes receives back")
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
		a.connect(t, l, active, ready, nil) // which has what it had
		exchange(t, active, ready, active.memory, ready.memory, active.request, ready.recv, 1)
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

// A reset takes receives back from an endpoint that has not connected, in their order, also if their queue is full. Without
// any it does nothing.
func TestResetTakesReceivesBack(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		recv := a.newQueue(t, cgo.EVDDTO|cgo.EVDSoftware)
		l, active, e := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		e.modify(t, cgo.EPFieldRecvEVDHandle, func(p *cgo.EPParam) { p.RecvEVDHandle = recv.EVDHandle })
		e.recv = recv
		reset := func() {
			t.Helper()
			success(t, "EPReset", cgo.EPReset(e.EPHandle))
			e.wantState(t, cgo.EPStateUnconnected)
			e.wantIdle(t, true, true)
		}
		for range 2 {
			posted := uint64(0)
			for cgo.EPPostRecv(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 8)}, posted, cgo.CompletionDefault).OK() {
				posted++
			}
			if posted < 2 {
				t.Fatalf("%d receives were posted", posted)
			}
			length := recv.length(t)
			for i := range length {
				success(t, "EVDPostSE", cgo.EVDPostSE(recv.EVDHandle, cgo.EventSoftware, uint64(i)))
			}
			reset()
			recv.waitSoftware(t, length)
			for cookie := range posted {
				event := e.recv.expect(t, cgo.EventDTOCompletion)
				if dto := event.DTO(); dto.EPHandle != e.EPHandle || dto.UserCookie != cookie || dto.Status != cgo.DTOErrFlushed {
					t.Errorf("receive %d completed with %+v", cookie, dto)
				}
				wantOperation(t, event, cgo.DTOReceive, 0)
			}
			reset()
			e.recv.empty(t)
		}
		e.postPieces(t, e.memory, 0)
		a.connect(t, l, active, e, nil)
		exchange(t, active, e, active.memory, e.memory, active.request, e.recv, 1)
	})
}
