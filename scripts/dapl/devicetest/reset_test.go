package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

// refusingKernel makes the kernel refuse queue pairs, changes of their state, and completion queues, while a file exists:
// one of them, if the file has its name.
const refusingKernel = `
static int refuses(const char *call)
{
	int fd = open(told_file(), O_RDONLY | O_CLOEXEC);
	char name[16];
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, name, sizeof(name));
	close(fd);
	errno = ENOMEM;
	return n == 0 || (n == (ssize_t)strlen(call) && memcmp(name, call, n) == 0);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return refuses("create") ? NULL : NEXT(ibv_create_qp)(pd, attr);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *device, int length, void *context, struct ibv_comp_channel *channel, int vector)
{
	return refuses("queue") ? NULL : NEXT(ibv_create_cq)(device, length, context, channel, vector);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	return refuses("modify") ? ENOMEM : NEXT(ibv_modify_qp)(qp, attr, mask);
}
`

// A reset that finds no room fails. The endpoint can then be freed, or reset when there is room again.
func TestResetFails(t *testing.T) {
	preloaded(t, refusingKernel, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		a.connect(t, l, active, passive)
		disconnect(t, active, passive)

		ready := a.newEndpoint(t)
		ready.postPieces(t, ready.memory, 0)

		tell(t, "")
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
		untell(t)

		reset(t, active)
		active.wantState(t, cgo.EPStateUnconnected)
		a.connect(t, l, active, ready) // which has what it had
		exchange(t, active, ready, active.memory, ready.memory, active.request, ready.recv, 1)
	})
}

// A receive is flushed when the endpoint of a rejected attempt is reset, and nothing waits for it later.
func TestResetFlushes(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, e := a.listen(t), a.newEndpoint(t)
		for cookie := range uint64(3) {
			e.postRecv(t, cookie)
			reject(t, a.ask(t, l, e), e)
			reset(t, e)
			e.recv.expectFlushed(t, cookie)
		}
		a.connect(t, l, e, a.newEndpoint(t))
	})
}

// A reset takes receives back from an endpoint that has not connected, in their order, also if their queue is full. Without
// any it does nothing.
func TestResetTakesReceivesBack(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		recv := a.newQueue(t, cgo.EVDDTO|cgo.EVDSoftware)
		l, active, e := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		e.modify(t, cgo.EPFieldRecvEVDHandle, func(p *cgo.EPParam) { p.RecvEVDHandle = recv.EVDHandle })
		e.recv = recv
		reset := func() {
			t.Helper()
			reset(t, e)
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
		a.connect(t, l, active, e)
		exchange(t, active, e, active.memory, e.memory, active.request, e.recv, 1)
	})
}
