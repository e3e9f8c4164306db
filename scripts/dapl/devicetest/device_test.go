package devicetest

import (
	"fmt"
	"os"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/scripts/vm/control"
)

// goneDevice reports the last event of a shared queue's endpoint as the end of the device. The event that it was is acknowledged.
const goneDevice = `
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	int ret = NEXT(ibv_get_async_event)(context, event);

	if (ret == 0 && event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
		event->event_type = IBV_EVENT_DEVICE_FATAL;
	return ret;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	if (event->event_type == IBV_EVENT_DEVICE_FATAL)
		event->event_type = IBV_EVENT_QP_LAST_WQE_REACHED;
	NEXT(ibv_ack_async_event)(event);
}
`

// Each adapter learns that its device is gone, and has its receives flushed before. One closes as soon as it knows.
func TestDeviceGoneForAll(t *testing.T) {
	if os.Getenv(childVariable) == "" && !reportsLastEvent(t) {
		return
	}
	preloaded(t, goneDevice+slowThreads, func(t *testing.T, first *adapter) {
		if first.iwarp {
			t.Log("soft-iWARP reports no last event of an endpoint with a shared queue")
			return
		}
		closing, second := openAdapter(lasting{t}, first.name), openAdapter(lasting{t}, first.name)
		success(t, "IAClose", cgo.IAClose(closing.IAHandle, cgo.CloseGraceful))
		firstAsync, secondAsync := first.newAsyncQueue(t), second.newAsyncQueue(lasting{t})
		waiting, gone := first.newEndpoint(t), second.newEndpoint(lasting{t})
		gone.postRecv(t, 1)
		waiting.postRecv(t, 1)
		// The kernel refuses posts before it says that the device is gone. The receive still counts.
		wantRefused(t, "EPPostRecv", cgo.EPPostRecv(waiting.EPHandle, waiting.memory.tooMany(), 2, cgo.CompletionDefault))

		shared, _ := first.newSharing(t)
		disconnect(t, first.newPeer(t, shared), shared)
		secondAsync.expect(t, cgo.EventAsyncErrorIACatastrophic)
		gone.recv.wantFlushed(t, 1)
		success(t, "IAClose", cgo.IAClose(second.IAHandle, cgo.CloseAbrupt)) // the thread is on its way to the next adapter
		firstAsync.expect(t, cgo.EventAsyncErrorIACatastrophic)
		waiting.recv.wantFlushed(t, 1)
	})
}

// lasting frees nothing when the test ends: the abrupt close of the adapter does.
type lasting struct{ testing.TB }

func (lasting) Cleanup(func()) {}

// reportsLastEvent reports whether the kernel's soft-RoCE reports the last event of an endpoint with a shared queue.
func reportsLastEvent(t *testing.T) bool {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	do(t, err)
	var major, minor int
	if _, err := fmt.Sscanf(string(release), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	reports := major > 6 || major == 6 && minor >= 12
	if !reports {
		t.Logf("Linux %d.%d does not report the last event of an endpoint with a shared queue", major, minor)
	}
	return reports
}

// missingDevice has librdmacm bind addresses without a device while the file exists, as when the device has just gone.
const missingDevice = `
int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	int ret = NEXT(rdma_bind_addr)(id, address);

	if (told())
		id->verbs = NULL;
	return ret;
}
`

// An endpoint that is made when the device has gone is refused.
func TestEndpointWithoutDevice(t *testing.T) {
	preloaded(t, missingDevice, func(t *testing.T, a *adapter) {
		if isSocketCM(a) {
			return
		}
		e := a.newEndpoint(t)
		tell(t, "")
		outcome(t, "EPCreate without a device", a.tryEP(e.pz, e, endpointAttr()), cgo.InvalidParameter, cgo.NoSubtype)
	})
}

// A device that was removed, and maybe is there again, opens no more adapters until all that it has are closed.
func TestOpenRemovedDevice(t *testing.T) {
	onPort(t, func(t *testing.T, name string) {
		if kind := control.DeviceKind(os.Getenv(control.KindVariable)); kind != control.RoCE {
			t.Logf("the kernel removes no device of the kind %s that is open", kind)
			return
		}
		opened := []*adapter{openAdapter(lasting{t}, name), openAdapter(lasting{t}, name)}
		command(t, "rdma link delete "+portDevice)
		refused := func() {
			t.Helper()
			_, _, r := cgo.IAOpen(name, 64)
			outcome(t, "IAOpen", r, cgo.InvalidState, cgo.InvalidStateIAInUse)
		}
		refused()
		command(t, "rdma link add "+portDevice+" type rxe netdev "+portInterface)
		for _, a := range opened {
			refused()
			success(t, "IAClose", cgo.IAClose(a.IAHandle, cgo.CloseAbrupt))
		}
		openAdapter(t, name).connectedPair(t)
	})
}
