package devicetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat/udattest"
)

// asyncEvents writes to a pipe which asynchronous events the library has handled. It can make each of them another
// one, of the newest object of that kind. The library of verbs acknowledges the event that it was. It can refuse them all.
const asyncEvents = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct event {
	void *element;
	int type;
};

static void *cq, *qp, *srq;
static struct event real;

void *ibv_create_cq(void *context, int cqe, void *cq_context, void *channel, int vector);
void *ibv_create_cq(void *context, int cqe, void *cq_context, void *channel, int vector)
{
	void *(*create)(void *, int, void *, void *, int) = dlsym(RTLD_NEXT, "ibv_create_cq");

	return cq = create(context, cqe, cq_context, channel, vector);
}

void *ibv_create_qp(void *pd, void *attr);
void *ibv_create_qp(void *pd, void *attr)
{
	void *(*create)(void *, void *) = dlsym(RTLD_NEXT, "ibv_create_qp");

	return qp = create(pd, attr);
}

void *ibv_create_srq(void *pd, void *attr);
void *ibv_create_srq(void *pd, void *attr)
{
	void *(*create)(void *, void *) = dlsym(RTLD_NEXT, "ibv_create_srq");

	return srq = create(pd, attr);
}

int ibv_get_async_event(void *context, struct event *event);
int ibv_get_async_event(void *context, struct event *event)
{
	int (*get)(void *, struct event *) = dlsym(RTLD_NEXT, "ibv_get_async_event");
	const char *type = getenv("DEVICETEST_EVENT");
	int ret;

	if (getenv("DEVICETEST_LOST") != NULL) {
		errno = EACCES;
		return -1;
	}
	ret = get(context, event);
	if (ret == 0) {
		real = *event;
		if (type != NULL)
			event->type = atoi(type);
		switch (event->type == real.type ? -1 : event->type) {
		case 0: /* CQ_ERR */
			event->element = cq;
			break;
		case 1: /* QP_FATAL */
		case 2: /* QP_REQ_ERR */
		case 3: /* QP_ACCESS_ERR */
		case 4: /* COMM_EST */
		case 5: /* SQ_DRAINED */
		case 6: /* PATH_MIG */
		case 7: /* PATH_MIG_ERR */
		case 16: /* QP_LAST_WQE_REACHED */
			event->element = qp;
			break;
		case 14: /* SRQ_ERR */
		case 15: /* SRQ_LIMIT_REACHED */
			event->element = srq;
			break;
		}
	}
	return ret;
}

void ibv_ack_async_event(struct event *event);
void ibv_ack_async_event(struct event *event)
{
	void (*ack)(struct event *) = dlsym(RTLD_NEXT, "ibv_ack_async_event");
	const char *handled = getenv("DEVICETEST_HANDLED");
	char type = event->type;

	ack(&real);
	if (handled != NULL && write(atoi(handled), &type, 1) != 1)
		abort();
}
`

// portVariable is set in a process of its own, to the name of the adapter whose port it may switch off.
const portVariable = "DEVICETEST_PORT_IA"

const (
	portInterface = "dummyport"
	portDevice    = "deviceport"
)

// onPort runs a test in a process for each adapter, whose port it may switch off.
func onPort(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	onPortWith(t, asyncEvents, test)
}

// onPortWith does so with another preloaded library.
func onPortWith(t *testing.T, source string, test func(t *testing.T, name string), environment ...string) {
	t.Helper()
	if name := os.Getenv(portVariable); name != "" {
		watch(t)
		test(t, name)
		return
	}
	if !udattest.InTestbed(t) {
		return
	}
	kind := control.DeviceKind(os.Getenv(control.KindVariable))
	command(t, "ip link add "+portInterface+" type dummy")
	t.Cleanup(func() { command(t, "ip link delete "+portInterface) })
	command(t, "ip address add 10.79.1.1/24 dev "+portInterface)
	command(t, "ip link set "+portInterface+" up")
	command(t, "rdma link add "+portDevice+" type "+string(kind)+" netdev "+portInterface)
	t.Cleanup(func() { command(t, "rdma link delete "+portDevice) })

	entries := map[string]string{"port-cma": `libdaplofa.so.2 dapl.2.0 "` + portInterface + ` 0"`}
	if kind == control.RoCE {
		entries["port-scm"] = `libdaploscm.so.2 dapl.2.0 "` + portDevice + ` 1"`
	}
	library := buildPreload(t, source)
	function := t.Name()
	for name, entry := range entries {
		t.Run(name, func(t *testing.T) {
			conf := filepath.Join(t.TempDir(), "dat.conf")
			if err := os.WriteFile(conf, []byte(name+" u2.0 nonthreadsafe default "+entry+` ""`+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			runWith(t, library, "^"+function+"$", append(environment,
				"DAT_OVERRIDE="+conf, "DAPL_SCM_NETDEV="+portInterface, portVariable+"="+name)...)
		})
	}
}

func command(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// port is the port of an adapter. Its events are asynchronous.
type port struct {
	handled *os.File // has a byte for each event that the library has handled
	up      bool
}

func newPort(t *testing.T) *port {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(udattest.Patience)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DEVICETEST_HANDLED", strconv.Itoa(int(w.Fd())))
	t.Cleanup(func() { r.Close(); w.Close() })
	return &port{handled: r, up: true}
}

// toggle switches the port off or on, and waits until the library has handled the event.
func (p *port) toggle(t *testing.T) (handled int) {
	t.Helper()
	p.up = !p.up
	command(t, "ip link set "+portInterface+map[bool]string{true: " up", false: " down"}[p.up])
	var event [1]byte
	if _, err := p.handled.Read(event[:]); err != nil {
		t.Fatalf("no event of the port came: %v", err)
	}
	return int(event[0])
}

// The numbers of events of ibverbs.
const (
	portActive = 9
	portErr    = 10
)

// A port that goes down and comes back is no error of the adapter, and ends no connection.
func TestPortDown(t *testing.T) { onPort(t, portDown) }

func portDown(t *testing.T, name string) {
	p := newPort(t)
	a := openAdapter(t, name)
	active, passive := a.connectedPair(t)
	for range 2 {
		for _, want := range []int{portErr, portActive} {
			if got := p.toggle(t); got != want {
				t.Fatalf("the event of ibverbs is %d, want %d", got, want)
			}
			queue{EVDHandle: a.async}.empty(t)
		}
		passive.postRecv(t, 1)
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, nil, 2, cgo.CompletionDefault))
		active.request.completion(t, cgo.EventDTOCompletion, 2)
		passive.recv.completion(t, cgo.EventDTOCompletion, 1)
	}
	active.connect.empty(t)
	passive.connect.empty(t)
}

// Each asynchronous event of ibverbs that is an error of an object comes with the number and the object that it has in
// DAT. The others do not come.
func TestAsyncEvents(t *testing.T) { onPort(t, eventsOfVerbs) }

func eventsOfVerbs(t *testing.T, name string) {
	p := newPort(t)
	a := openAdapter(t, name)
	ep := a.newEndpoint(t)
	srq := a.newSRQ(t, ep.pz).SRQHandle
	for _, test := range []struct {
		event string
		ibv   int
		want  cgo.EventNumber // 0 for none
		of    uintptr         // 0 for any
	}{
		{"CQ_ERR", 0, cgo.EventAsyncErrorEVDOverflow, uintptr(ep.request.EVDHandle)},
		{"QP_FATAL", 1, cgo.EventAsyncErrorEPBroken, uintptr(ep.EPHandle)},
		{"QP_REQ_ERR", 2, cgo.EventAsyncErrorEPBroken, uintptr(ep.EPHandle)},
		{"QP_ACCESS_ERR", 3, cgo.EventAsyncErrorEPBroken, uintptr(ep.EPHandle)},
		{"COMM_EST", 4, 0, 0},
		{"SQ_DRAINED", 5, 0, 0},
		{"PATH_MIG", 6, 0, 0},
		{"PATH_MIG_ERR", 7, 0, 0},
		{"PORT_ACTIVE", portActive, 0, 0},
		{"PORT_ERR", portErr, 0, 0},
		{"LID_CHANGE", 11, 0, 0},
		{"PKEY_CHANGE", 12, 0, 0},
		{"SM_CHANGE", 13, 0, 0},
		{"SRQ_ERR", 14, cgo.EventAsyncErrorProviderInternalError, uintptr(srq)},
		{"SRQ_LIMIT_REACHED", 15, 0, 0},
		{"QP_LAST_WQE_REACHED", 16, 0, 0},
		{"CLIENT_REREGISTER", 17, 0, 0},
		{"GID_CHANGE", 18, 0, 0},
		{"WQ_FATAL", 19, 0, 0},
		{"an event of the future", 100, 0, 0},
		{"DEVICE_FATAL", 8, cgo.EventAsyncErrorIACatastrophic, 0}, // of an address in the library
	} {
		os.Setenv("DEVICETEST_EVENT", fmt.Sprint(test.ibv))
		if got := p.toggle(t); got != test.ibv {
			t.Fatalf("%s: the library has handled %d", test.event, got)
		}
		var event cgo.Event
		if r := cgo.EVDDequeue(a.async, &event); r.Type() == cgo.QueueEmpty {
			event = cgo.Event{}
		} else {
			success(t, "EVDDequeue", r)
		}
		if of := uintptr(event.AsyncError().Handle); event.Number != test.want || test.of != 0 && of != test.of {
			t.Errorf("%s is reported as %v of %#x, want %v of %#x", test.event, event.Number, of, test.want, test.of)
		}
		queue{EVDHandle: a.async}.empty(t)
	}

	// An endpoint without EVDs has a completion queue of its own.
	bare, r := cgo.EPCreate(a.IAHandle, ep.pz, 0, 0, ep.connect.EVDHandle, nil)
	success(t, "EPCreate", r)
	t.Cleanup(func() { success(t, "EPFree", cgo.EPFree(bare)) })
	os.Setenv("DEVICETEST_EVENT", "0")
	p.toggle(t)
	queue{EVDHandle: a.async}.empty(t)
}
