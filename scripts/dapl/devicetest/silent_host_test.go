package devicetest

import (
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// attempt is an endpoint that has a protection zone and queues of its own, so that it and they can be freed in the test.
type attempt struct {
	cgo.EPHandle
	pz   cgo.PZHandle
	srq  cgo.SRQHandle
	done cgo.EVDHandle
}

func (a *adapter) newAttempt(t *testing.T) *attempt {
	t.Helper()
	e := &attempt{pz: a.createPZ(t), done: a.createEVD(t, queueLength, 0, cgo.EVDDTO)}
	e.srq = a.createSRQ(t, e.pz, 8)
	e.EPHandle = a.createEP(t, e.pz, e.done, e.done, a.newQueue(t, cgo.EVDConnection).EVDHandle, e.srq)
	return e
}

func (e *attempt) connectTo(t *testing.T, a *adapter, qual uint64) {
	t.Helper()
	(&endpoint{EPHandle: e.EPHandle}).connectTo(t, a.address, qual, cgo.TimeoutInfinite)
}

// end ends the attempt, and frees the endpoint.
func (e *attempt) end(t *testing.T) {
	t.Helper()
	success(t, "EPDisconnect", cgo.EPDisconnect(e.EPHandle, cgo.CloseAbrupt))
	success(t, "EPFree", cgo.EPFree(e.EPHandle))
}

// free frees what the endpoint has used.
func (e *attempt) free(t *testing.T) {
	t.Helper()
	success(t, "EVDFree", cgo.EVDFree(e.done))
	success(t, "SRQFree", cgo.SRQFree(e.srq))
	success(t, "PZFree", cgo.PZFree(e.pz))
}

// besideSilent runs a test on each iWARP device, while attempts to connect to a host that does not answer are under way.
// It fails if the test waits for the host. The host answers then.
func besideSilent(t *testing.T, connect func(t *testing.T, a *adapter, qual uint64) (attempts int), test func(t *testing.T, a *adapter)) {
	t.Helper()
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if !a.iwarp {
			t.Log("nothing waits for a host")
			return
		}
		qual := uint64(udattest.ConnQual())
		answer := blackHole(t, a, qual)
		others := asking(t, a, qual)
		late := time.AfterFunc(udattest.Patience/2, answer)
		attempts := connect(t, a, qual)
		eventually(t, "the kernel connects", func() bool { return asking(t, a, qual) >= others+attempts })
		test(t, a)
		if !late.Stop() {
			t.Fatal("the calls have returned when the host has answered")
		}
		answer()
	})
}

// Attempts to connect to hosts that do not answer keep nothing else from connecting, ending and being freed, and time out.
func TestConnectionsBesideSilentHosts(t *testing.T) {
	const timeout = uint32(time.Second / time.Microsecond)
	var timed *endpoint
	var freed *attempt
	besideSilent(t, func(t *testing.T, a *adapter, qual uint64) int {
		timed, freed = a.newEndpoint(t), a.newAttempt(t)
		freed.connectTo(t, a, qual)
		timed.connectTo(t, a.address, qual, timeout)
		a.newEndpoint(t).connectTo(t, a.address, qual, cgo.TimeoutInfinite)
		return 3
	}, func(t *testing.T, a *adapter) {
		l, unanswered := a.listen(t), a.newAttempt(t)
		unanswered.connectTo(t, a, l.qual)
		request := l.request(t)
		unanswered.end(t)
		success(t, "CRReject", cgo.CRReject(request, nil))
		unanswered.free(t)
		a.connectedPair(t)
		timed.connect.expect(t, cgo.EventConnectionTimedOut)
		timed.wantState(t, cgo.EPStateDisconnected)
		freed.end(t)
		t.Cleanup(func() { freed.free(t) })
	})
}

// noThreads refuses a thread with a small stack.
const noThreads = `
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *), void *data)
{
	size_t stack;

	if (attr != NULL && pthread_attr_getstacksize(attr, &stack) == 0 && stack <= 512 * 1024)
		return EAGAIN;
	return NEXT(pthread_create)(thread, attr, function, data);
}
`

// What an ended attempt has used is freed once its peer has answered, also while the thread that would free its queue pair
// waits for a host.
func TestFreeBesideBusyThread(t *testing.T) {
	if !inChild(t, noThreads, overwriteFreed) {
		return
	}
	var unanswered, freed *attempt
	var request cgo.CRHandle
	besideSilent(t, func(t *testing.T, a *adapter, qual uint64) int {
		l := a.listen(t)
		unanswered, freed = a.newAttempt(t), a.newAttempt(t)
		unanswered.connectTo(t, a, l.qual)
		request = l.request(t)
		freed.connectTo(t, a, qual)
		return 1
	}, func(t *testing.T, a *adapter) {
		unanswered.end(t)
		success(t, "CRReject", cgo.CRReject(request, nil))
		unanswered.free(t)
		freed.end(t)
		t.Cleanup(func() { freed.free(t) })
	})
}

// shortSleeps makes the library's patience short.
const shortSleeps = `
int nanosleep(const struct timespec *time, struct timespec *left)
{
	struct timespec less = {.tv_nsec = time->tv_nsec / 1000};

	return NEXT(nanosleep)(&less, left);
}
`

// What an ended attempt uses is not freed as long as the kernel connects, and can be freed later.
func TestFreeBesideAttempt(t *testing.T) {
	if !inChild(t, shortSleeps, overwriteFreed) {
		return
	}
	var freed *attempt
	besideSilent(t, func(t *testing.T, a *adapter, qual uint64) int {
		freed = a.newAttempt(t)
		freed.connectTo(t, a, qual)
		return 1
	}, func(t *testing.T, a *adapter) {
		freed.end(t)
		outcome(t, "EVDFree", cgo.EVDFree(freed.done), cgo.InvalidState, cgo.InvalidStateEVDInUse)
		outcome(t, "SRQFree", cgo.SRQFree(freed.srq), cgo.InvalidState, cgo.InvalidStateSRQInUse)
		outcome(t, "PZFree", cgo.PZFree(freed.pz), cgo.InvalidState, cgo.InvalidStatePZInUse)
		t.Cleanup(func() {
			eventually(t, "EVDFree", cgo.EVDFree(freed.done).OK)
			eventually(t, "SRQFree", cgo.SRQFree(freed.srq).OK)
			eventually(t, "PZFree", cgo.PZFree(freed.pz).OK)
		})
	})
}

// heldEvent makes an event of the port one of the newest queue pair, tells a pipe that it has come, and holds up the
// thread that handles it after each lock.
const heldEvent = `
static struct ibv_qp *qp;
static struct ibv_async_event real;
static __thread int holding;

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return qp = NEXT(ibv_create_qp)(pd, attr);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	int ret = NEXT(ibv_get_async_event)(context, event);

	if (ret == 0) {
		real = *event;
		if (event->event_type == IBV_EVENT_PORT_ERR) {
			holding = 1;
			event->event_type = IBV_EVENT_QP_FATAL;
			event->element.qp = qp;
		}
	}
	return ret;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	const char *handled = getenv("DEVICETEST_HANDLED");
	char type = IBV_EVENT_QP_FATAL;
	int ret = LIBC(pthread_mutex_unlock)(mutex);

	if (holding) {
		if (holding++ == 1 && handled != NULL && write(atoi(handled), &type, 1) != 1)
			abort();
		usleep(200000);
	}
	return ret;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	holding = 0;
	*event = real;
	NEXT(ibv_ack_async_event)(event);
}
`

// An endpoint whose attempt has no answer is not freed while the thread handles an event of its queue pair.
func TestFreeBesideEvent(t *testing.T) {
	onPortWith(t, heldEvent, func(t *testing.T, name string) {
		p, a := newPort(t), openAdapter(t, name)
		if !a.iwarp {
			t.Log("its queue pair is destroyed, which waits for the event")
			return
		}
		l, e := a.listen(t), a.newAttempt(t)
		e.connectTo(t, a, l.qual)
		request := l.request(t)
		p.toggle(t)
		e.end(t)
		success(t, "CRReject", cgo.CRReject(request, nil))
		e.free(t)
	}, overwriteFreed)
}

// removedDevice reports once, while the file exists, that the device of the first attempt is removed.
const removedDevice = `
static struct rdma_cm_event removal = {.event = RDMA_CM_EVENT_DEVICE_REMOVAL};

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	if (removal.id == NULL)
		removal.id = id;
	return NEXT(rdma_connect)(id, param);
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	static int done;

	if (!told() || done++)
		return NEXT(rdma_get_cm_event)(channel, event);
	*event = &removal;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	return event == &removal ? 0 : NEXT(rdma_ack_cm_event)(event);
}
`

// The removal of the device is no answer: the thread does not wait for one.
func TestRemovalBesideAttempt(t *testing.T) {
	preloaded(t, removedDevice, func(t *testing.T, a *adapter) {
		if !a.iwarp {
			t.Log("nothing waits for an answer")
			return
		}
		l, e := a.listen(t), a.newAttempt(t)
		e.connectTo(t, a, l.qual)
		request := l.request(t)
		e.end(t)
		tell(t, "")
		a.connectedPair(t)
		if !established(t, l.qual) {
			t.Error("the thread has waited for the kernel to give up")
		}
		success(t, "CRReject", cgo.CRReject(request, nil))
		e.free(t)
	}, overwriteFreed)
}
