package devicetest

import (
	"fmt"
	"os"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/scripts/vm/control"
)

// goneDevice reports another event, the last one of a shared receive queue's endpoint, as the end of the device. It
// lets the library acknowledge the event that it was.
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

// Each adapter on a device learns that the device is gone, and has its receives flushed before. One has closed earlier,
// and one closes as soon as it knows.
func TestDeviceGoneForAll(t *testing.T) {
	if os.Getenv(childVariable) != "" || reportsLastEvent(t) {
		preloaded(t, goneDevice+slowThreads, testDeviceGoneForAll)
	}
}

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

func testDeviceGoneForAll(t *testing.T, first *adapter) {
	if first.iwarp {
		t.Log("soft-iWARP reports no last event of an endpoint with a shared queue")
		return
	}
	closing, _, r := cgo.IAOpen(first.name, 64)
	success(t, "IAOpen", r)
	var second adapter
	second.IAHandle, second.async, r = cgo.IAOpen(first.name, 64)
	success(t, "IAOpen", r)
	success(t, "IAClose", cgo.IAClose(closing, cgo.CloseGraceful))

	// An abrupt close frees what the second adapter has.
	cno, r := cgo.CNOCreate(second.IAHandle, 0, 0)
	success(t, "CNOCreate", r)
	success(t, "EVDModifyCNO", cgo.EVDModifyCNO(second.async, cno))
	done, r := cgo.EVDCreate(second.IAHandle, queueLength, 0, cgo.EVDDTO)
	success(t, "EVDCreate", r)
	connect, r := cgo.EVDCreate(second.IAHandle, queueLength, 0, cgo.EVDConnection)
	success(t, "EVDCreate", r)
	pz, r := cgo.PZCreate(second.IAHandle)
	success(t, "PZCreate", r)
	ep, r := cgo.EPCreate(second.IAHandle, pz, done, done, connect, endpointAttr())
	success(t, "EPCreate", r)
	success(t, "EPPostRecv", cgo.EPPostRecv(ep, nil, 1, cgo.CompletionDefault))

	firstCNO, r := cgo.CNOCreate(first.IAHandle, 0, 0)
	success(t, "CNOCreate", r)
	success(t, "EVDModifyCNO", cgo.EVDModifyCNO(first.async, firstCNO))
	t.Cleanup(func() {
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(first.async, 0))
		success(t, "CNOFree", cgo.CNOFree(firstCNO))
	})
	waiting := first.newEndpoint(t)
	waiting.postRecv(t, 1)
	// The kernel refuses posts before it says that the device is gone. The receive still counts.
	wantRefused(t, "EPPostRecv", cgo.EPPostRecv(waiting.EPHandle, waiting.memory.tooMany(), 2, cgo.CompletionDefault))

	shared, _ := first.newSharing(t)
	peer := first.newEndpoint(t)
	first.connect(t, first.listen(t), peer, shared)
	disconnect(t, peer, shared)

	queue{second.async, cno}.expect(t, cgo.EventAsyncErrorIACatastrophic)
	wantFlushedReceive(t, done)
	success(t, "IAClose", cgo.IAClose(second.IAHandle, cgo.CloseAbrupt)) // the thread is on its way to the next adapter
	queue{first.async, firstCNO}.expect(t, cgo.EventAsyncErrorIACatastrophic)
	wantFlushedReceive(t, waiting.recv.EVDHandle)
}

// wantFlushedReceive takes the completion of receive 1, which must be there already.
func wantFlushedReceive(t *testing.T, evd cgo.EVDHandle) {
	t.Helper()
	event := dequeue(t, evd)
	if dto := event.DTO(); dto.UserCookie != 1 || dto.Status == cgo.DTOSuccess {
		t.Errorf("operation %d completed with %v", dto.UserCookie, dto.Status)
	}
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
		_, r := cgo.EPCreate(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, endpointAttr())
		outcome(t, "EPCreate without a device", r, cgo.InvalidParameter, cgo.NoSubtype)
	})
}

// A device that was removed opens no more adapters, though one of its name may be there again, until all that it has are
// closed.
func TestOpenRemovedDevice(t *testing.T) { onPort(t, openRemoved) }

func openRemoved(t *testing.T, name string) {
	if kind := control.DeviceKind(os.Getenv(control.KindVariable)); kind != control.RoCE {
		t.Logf("the kernel removes no device of the kind %s that is open", kind)
		return
	}
	first, _, r := cgo.IAOpen(name, 64)
	success(t, "IAOpen", r)
	second, _, r := cgo.IAOpen(name, 64)
	success(t, "IAOpen", r)
	refused := func() {
		t.Helper()
		_, _, r := cgo.IAOpen(name, 64)
		outcome(t, "IAOpen", r, cgo.InvalidState, cgo.InvalidStateIAInUse)
	}
	command(t, "rdma link delete "+portDevice)
	refused()
	command(t, "rdma link add "+portDevice+" type rxe netdev "+portInterface)
	refused()
	success(t, "IAClose", cgo.IAClose(first, cgo.CloseAbrupt))
	refused()
	success(t, "IAClose", cgo.IAClose(second, cgo.CloseAbrupt))
	openAdapter(t, name).connectedPair(t)
}
