package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// unarmedQueues refuses to arm completion queues, and posts, with a reason that is returned and not in errno, where there
// is that of an earlier call, or none.
const unarmedQueues = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

static struct ibv_context_ops device;

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int found = device.poll_cq(cq, n, wc);

	errno = EIO;
	return found;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	return getenv("DEVICETEST_UNARMED") ? EINVAL : device.req_notify_cq(cq, solicited);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	errno = 0;
	return getenv("DEVICETEST_UNARMED") ? ENOMEM : device.post_send(qp, request, bad);
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *receive, struct ibv_recv_wr **bad)
{
	errno = 0;
	return getenv("DEVICETEST_UNARMED") ? ENOMEM : device.post_recv(qp, receive, bad);
}

struct ibv_context *ibv_open_device(struct ibv_device *of)
{
	struct ibv_context *(*next)(struct ibv_device *) = (struct ibv_context *(*)(struct ibv_device *))dlsym(RTLD_NEXT, "ibv_open_device");
	struct ibv_context *context = next(of);

	if (context != NULL) {
		device = context->ops;
		context->ops.poll_cq = poll_cq;
		context->ops.req_notify_cq = req_notify_cq;
		context->ops.post_send = post_send;
		context->ops.post_recv = post_recv;
	}
	return context;
}
`

// A wait for completions of which nothing would tell fails.
func TestUnarmedQueue(t *testing.T) {
	if !isSlow(t, unarmedQueues) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		evd, r := cgo.EVDCreate(a.IAHandle, queueLength, 0, cgo.EVDDTO)
		success(t, "EVDCreate", r)
		t.Setenv("DEVICETEST_UNARMED", "1")
		var event cgo.Event
		const soon = 100000 // microseconds, without a wait if all is well
		_, r = cgo.EVDWait(evd, soon, 1, &event)
		outcome(t, "EVDWait", r, cgo.InvalidParameter, cgo.NoSubtype)
		success(t, "EVDFree", cgo.EVDFree(evd))
	})
}

// A post fails for the reason that the adapter returns.
func TestPostRefusedWithoutErrno(t *testing.T) {
	if !isSlow(t, unarmedQueues) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, _ := a.connectedPair(t)
		segments := []cgo.LMRTriplet{active.memory.local(0, 64)}
		t.Setenv("DEVICETEST_UNARMED", "1")
		r := cgo.EPPostSend(active.EPHandle, segments, 1, cgo.CompletionDefault)
		outcome(t, "EPPostSend", r, cgo.InsufficientResources, cgo.NoSubtype)
		r = cgo.EPPostRecv(active.EPHandle, segments, 1, cgo.CompletionDefault)
		outcome(t, "EPPostRecv", r, cgo.InsufficientResources, cgo.NoSubtype)
	})
}
