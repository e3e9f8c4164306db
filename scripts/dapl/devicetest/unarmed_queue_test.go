package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// unarmedQueues refuses to arm completion queues with a reason that is returned and not in errno, where there is that of
// an earlier call.
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

struct ibv_context *ibv_open_device(struct ibv_device *of)
{
	struct ibv_context *(*next)(struct ibv_device *) = (struct ibv_context *(*)(struct ibv_device *))dlsym(RTLD_NEXT, "ibv_open_device");
	struct ibv_context *context = next(of);

	if (context != NULL) {
		device = context->ops;
		context->ops.poll_cq = poll_cq;
		context->ops.req_notify_cq = req_notify_cq;
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
