package devicetest

import (
	"os"
	"testing"

	"github.com/goudat/goudat/cgo"
)

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
