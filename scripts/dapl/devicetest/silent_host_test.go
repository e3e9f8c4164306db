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
	e, connect := &attempt{}, a.newQueue(t, cgo.EVDConnection)
	var r cgo.Return
	e.pz, r = cgo.PZCreate(a.IAHandle)
	success(t, "PZCreate", r)
	e.srq, r = cgo.SRQCreate(a.IAHandle, e.pz, &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 2})
	success(t, "SRQCreate", r)
	e.done, r = cgo.EVDCreate(a.IAHandle, queueLength, 0, cgo.EVDDTO)
	success(t, "EVDCreate", r)
	e.EPHandle, r = cgo.EPCreateWithSRQ(a.IAHandle, e.pz, e.done, e.done, connect.EVDHandle, e.srq, endpointAttr())
	success(t, "EPCreateWithSRQ", r)
	return e
}

func (e *attempt) connectTo(t *testing.T, a *adapter, qual uint64) {
	t.Helper()
	success(t, "EPConnect", cgo.EPConnect(e.EPHandle, a.address, qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault))
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
	watch(t)
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
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *), void *data)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
	size_t stack;

	if (attr != NULL && pthread_attr_getstacksize(attr, &stack) == 0 && stack <= 512 * 1024)
		return EAGAIN;
	return create(thread, attr, function, data);
}
`

// What an ended attempt has used is freed once its peer has answered, also while the thread that would free its queue pair
// waits for a host.
func TestFreeBesideBusyThread(t *testing.T) {
	if !isSlow(t, noThreads, overwriteFreed) {
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
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int nanosleep(const struct timespec *time, struct timespec *left)
{
	int (*sleep)(const struct timespec *, struct timespec *) =
		(int (*)(const struct timespec *, struct timespec *))dlsym(RTLD_NEXT, "nanosleep");
	struct timespec less = {.tv_nsec = time->tv_nsec / 1000};

	return sleep(&less, left);
}
`

// What an ended attempt uses is not freed as long as the kernel connects, and can be freed later.
func TestFreeBesideAttempt(t *testing.T) {
	if !isSlow(t, shortSleeps, overwriteFreed) {
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
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct event {
	void *element;
	int type;
};

enum { qp_fatal = 1, port_err = 10 };

static void *qp;
static struct event real;
static __thread int holding;

void *ibv_create_qp(void *pd, void *attr);
void *ibv_create_qp(void *pd, void *attr)
{
	void *(*create)(void *, void *) = dlsym(RTLD_NEXT, "ibv_create_qp");

	return qp = create(pd, attr);
}

int ibv_get_async_event(void *context, struct event *event);
int ibv_get_async_event(void *context, struct event *event)
{
	int (*get)(void *, struct event *) = dlsym(RTLD_NEXT, "ibv_get_async_event");
	int ret = get(context, event);

	if (ret == 0) {
		real = *event;
		if (event->type == port_err) {
			holding = 1;
			event->type = qp_fatal;
			event->element = qp;
		}
	}
	return ret;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*unlock)(pthread_mutex_t *);
	const char *handled = getenv("DEVICETEST_HANDLED");
	char type = qp_fatal;
	int ret;

	if (unlock == NULL)
		unlock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	ret = unlock(mutex);
	if (holding) {
		if (holding++ == 1 && handled != NULL && write(atoi(handled), &type, 1) != 1)
			abort();
		usleep(200000);
	}
	return ret;
}

void ibv_ack_async_event(struct event *event);
void ibv_ack_async_event(struct event *event)
{
	void (*ack)(struct event *) = dlsym(RTLD_NEXT, "ibv_ack_async_event");

	holding = 0;
	*event = real;
	ack(event);
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

// removedDevice reports once, while a variable is set, that the device of the first attempt is removed.
const removedDevice = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

struct event {
	void *id, *listen_id;
	int type;
	char more[500];
};

enum { device_removal = 11 };

static struct event removal = {.type = device_removal};

int rdma_connect(void *id, void *param);
int rdma_connect(void *id, void *param)
{
	int (*connect)(void *, void *) = dlsym(RTLD_NEXT, "rdma_connect");

	if (removal.id == NULL)
		removal.id = id;
	return connect(id, param);
}

int rdma_get_cm_event(void *channel, struct event **event);
int rdma_get_cm_event(void *channel, struct event **event)
{
	int (*get)(void *, struct event **) = dlsym(RTLD_NEXT, "rdma_get_cm_event");
	static int done;

	if (getenv("DEVICETEST_REMOVED") == NULL || done++)
		return get(channel, event);
	*event = &removal;
	return 0;
}

int rdma_ack_cm_event(struct event *event);
int rdma_ack_cm_event(struct event *event)
{
	int (*ack)(struct event *) = dlsym(RTLD_NEXT, "rdma_ack_cm_event");

	return event == &removal ? 0 : ack(event);
}
`

// The removal of the device is no answer: the thread does not wait for one.
func TestRemovalBesideAttempt(t *testing.T) {
	if !isSlow(t, removedDevice, overwriteFreed) {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if !a.iwarp {
			t.Log("nothing waits for an answer")
			return
		}
		l, e := a.listen(t), a.newAttempt(t)
		e.connectTo(t, a, l.qual)
		request := l.request(t)
		e.end(t)
		t.Setenv("DEVICETEST_REMOVED", "1")
		a.connectedPair(t)
		if !established(t, l.qual) {
			t.Error("the thread has waited for the kernel to give up")
		}
		success(t, "CRReject", cgo.CRReject(request, nil))
		e.free(t)
	})
}
