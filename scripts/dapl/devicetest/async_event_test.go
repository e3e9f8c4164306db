package devicetest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/scripts/dapl/devicetest/between"
	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat/udattest"
)

// asyncEvents writes to a pipe which asynchronous events the library has handled. It can make each of them another
// one, of the newest object of that kind. The library of verbs acknowledges the event that it was. It can refuse them all.
const asyncEvents = `
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_srq *srq;
static struct ibv_async_event real;

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *user, struct ibv_comp_channel *channel, int vector)
{
	return cq = NEXT(ibv_create_cq)(context, cqe, user, channel, vector);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return qp = NEXT(ibv_create_qp)(pd, attr);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return srq = NEXT(ibv_create_srq)(pd, attr);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	const char *type = getenv("DEVICETEST_EVENT");

	if (told()) {
		errno = EACCES;
		return -1;
	}
	if (NEXT(ibv_get_async_event)(context, event) != 0)
		return -1;
	real = *event;
	if (type == NULL || atoi(type) == (int)real.event_type)
		return 0;
	event->event_type = atoi(type);
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		event->element.cq = cq;
		break;
	case IBV_EVENT_QP_FATAL ... IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		event->element.qp = qp;
		break;
	case IBV_EVENT_SRQ_ERR ... IBV_EVENT_SRQ_LIMIT_REACHED:
		event->element.srq = srq;
		break;
	default:
		break;
	}
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	const char *handled = getenv("DEVICETEST_HANDLED");
	char type = event->event_type;

	NEXT(ibv_ack_async_event)(&real);
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
			do(t, os.WriteFile(conf, []byte(name+" u2.0 nonthreadsafe default "+entry+` ""`+"\n"), 0o644))
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
	do(t, err)
	do(t, r.SetReadDeadline(time.Now().Add(udattest.Patience)))
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
		active.deliver(t, 2)
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
	a.newBare(t, ep.pz, 0, 0, ep.connect.EVDHandle, nil)
	os.Setenv("DEVICETEST_EVENT", "0")
	p.toggle(t)
	queue{EVDHandle: a.async}.empty(t)
}

// newAsyncQueue makes a CNO for the asynchronous events of an adapter, to wait for them.
func (a *adapter) newAsyncQueue(t *testing.T) queue {
	t.Helper()
	cno, r := cgo.CNOCreate(a.IAHandle, 0, 0)
	success(t, "CNOCreate", r)
	success(t, "EVDModifyCNO", cgo.EVDModifyCNO(a.async, cno))
	t.Cleanup(func() {
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(a.async, 0))
		success(t, "CNOFree", cgo.CNOFree(cno))
	})
	return queue{a.async, cno}
}

// wantLost expects the report that events of a kind do not come any more, once, and that no thread asks for them.
func (a *adapter) wantLost(t *testing.T, async queue) {
	t.Helper()
	event := async.expect(t, cgo.EventAsyncErrorProviderInternalError)
	of, r := cgo.GetIAHandle(cgo.IAHandle(event.AsyncError().Handle))
	success(t, "GetIAHandle", r)
	if of != a.IAHandle {
		t.Errorf("the error is of the adapter %#x, want %#x", of, a.IAHandle)
	}
	const wait = time.Second
	before := processorTime(t)
	_, r = cgo.CNOWait(async.cno, uint32(wait/time.Microsecond))
	if r.OK() { // the trigger of the event that is taken
		before = processorTime(t)
		_, r = cgo.CNOWait(async.cno, uint32(wait/time.Microsecond))
	}
	outcome(t, "CNOWait", r, cgo.QueueEmpty, cgo.NoSubtype)
	if used := processorTime(t) - before; used > wait/4 {
		t.Errorf("the process was busy for %v of %v without an event", used, wait)
	}
	async.empty(t)
}

// credentialsVariable names the adapter for a process that changes its credentials.
const credentialsVariable = "DEVICETEST_CREDENTIALS"

// The kernel refuses the events of connections to a process that has changed its credentials. The process learns that
// when there is the first, and closes as usual.
func TestChangedCredentials(t *testing.T) {
	if name := os.Getenv(credentialsVariable); name != "" {
		watch(t)
		a := openAdapter(t, name)
		async := a.newAsyncQueue(t)
		l := a.listen(t)
		const nobody = 65534
		do(t, syscall.Setuid(nobody))
		ready := os.NewFile(3, "ready")
		if _, err := fmt.Fprintln(ready, l.qual); err != nil {
			t.Fatal(err)
		}
		a.wantLost(t, async)
		l.requests.empty(t)
		return
	}
	forEachInTestbed(t, func(t *testing.T, a *adapter) {
		if isSocketCM(a) {
			t.Log("socket CM has no file of the connection manager")
			return
		}
		self, err := os.Executable()
		do(t, err)
		r, w, err := os.Pipe()
		do(t, err)
		defer r.Close()
		c := exec.CommandContext(udattest.Context(t), self, "-test.v", "-test.run", "^TestChangedCredentials$")
		c.Env = append(os.Environ(), credentialsVariable+"="+a.name)
		c.ExtraFiles = []*os.File{w}
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		err = c.Start()
		w.Close()
		do(t, err)
		defer func() { t.Logf("%s", out.Bytes()) }()
		var qual uint64
		if _, err := fmt.Fscan(bufio.NewReader(r), &qual); err == nil {
			e := a.newEndpoint(t)
			e.connectTo(t, a.address, qual, cgo.TimeoutInfinite)
			if err := c.Wait(); err != nil {
				t.Errorf("the other process: %v", err)
			}
			e.connect.next(t) // the process has ended: a rejection of either kind
		} else {
			t.Errorf("the other process is not ready: %v (%v)", err, c.Wait())
		}
	})
}

// lostCompletions refuses all completion events, while the file exists.
const lostCompletions = `
int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	if (!told())
		return NEXT(ibv_get_cq_event)(channel, cq, context);
	errno = EACCES;
	return -1;
}
`

// Completion events that cannot be read are reported, and a wait for one returns the error.
func TestLostCompletionEvents(t *testing.T) {
	preloaded(t, lostCompletions, func(t *testing.T, a *adapter) {
		async := a.newAsyncQueue(t)
		direct := a.newEVD(t, queueLength, 0, cgo.EVDDTO)
		active := a.newEndpoint(t)
		passive := a.makeEndpoint(t, parts{recv: direct})
		a.connect(t, a.listen(t), active, passive)
		var event cgo.Event
		_, r := cgo.EVDWait(direct, 0, 1, &event) // asks for a notification
		outcome(t, "EVDWait", r, cgo.TimeoutExpired, cgo.NoSubtype)
		_, r = cgo.CNOWait(active.request.cno, 0)
		outcome(t, "CNOWait", r, cgo.QueueEmpty, cgo.NoSubtype)

		tell(t, "")
		for cookie := range uint64(2) {
			passive.postRecv(t, cookie)
		}
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, nil, 1, cgo.CompletionDefault))
		a.wantLost(t, async)
		_, r = cgo.EVDWait(direct, uint32(udattest.Patience/time.Microsecond), 2, &event)
		outcome(t, "EVDWait", r, cgo.PrivilegesViolation, cgo.NoSubtype)
		untell(t)
	})
}

// Asynchronous events that cannot be read are reported.
func TestLostAsyncEvents(t *testing.T) {
	onPort(t, func(t *testing.T, name string) {
		a := openAdapter(t, name)
		async := a.newAsyncQueue(t)
		tell(t, "")
		command(t, "ip link set "+portInterface+" down")
		a.wantLost(t, async)
		command(t, "ip link set "+portInterface+" up")
	})
}

// strangerProgram opens an adapter, and connects two queue pairs of its own with librdmacm, over which asynchronous events
// come: of a shared receive queue, of a completion queue, or of a queue pair. Their contexts are no pointers, or those of
// the adapter's objects.
const strangerProgram = `
#define _GNU_SOURCE
#include <netdb.h>
#include <dat2/udat.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void want(int line, int ok)
{
	if (!ok) {
		fprintf(stderr, "line %d fails\n", line);
		exit(1);
	}
}
#define WANT(ok) want(__LINE__, ok)

static const char *kind;
static int handled[2];		/* has a byte for each event that the library has handled */
static struct ibv_qp *passive_qp;
static struct ibv_async_event real;

static int is(const char *other)
{
	return strcmp(kind, other) == 0;
}

/* What breaks a queue pair differs from device to device: the event of the shared queue becomes that of the queue pair. */
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	int (*get)(struct ibv_context *, struct ibv_async_event *) = dlsym(RTLD_NEXT, "ibv_get_async_event");
	int ret = get(context, event);

	if (ret == 0) {
		real = *event;
		if (is("qp") && event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED) {
			event->event_type = IBV_EVENT_QP_FATAL;
			event->element.qp = passive_qp;
		}
	}
	return ret;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	void (*ack)(struct ibv_async_event *) = dlsym(RTLD_NEXT, "ibv_ack_async_event");
	char type = event->event_type;

	ack(&real);
	WANT(write(handled[1], &type, 1) == 1);
}

static void await_handled(enum ibv_event_type type)
{
	struct pollfd p = { .fd = handled[0], .events = POLLIN };
	char got;

	do {
		WANT(poll(&p, 1, PATIENCE_MS) == 1);
		WANT(read(handled[0], &got, 1) == 1);
	} while (got != (char)type);
}

static struct rdma_cm_event *await(struct rdma_event_channel *channel)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	WANT(poll(&p, 1, PATIENCE_MS) == 1);
	WANT(rdma_get_cm_event(channel, &event) == 0);
	return event;
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd, connect_evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_SRQ_HANDLE srq_handle;
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = 0 };
	DAT_EVENT event;
	struct addrinfo *address, numeric = { .ai_flags = AI_NUMERICHOST };
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *active, *passive = NULL;
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_pd *pd = NULL;
	struct ibv_cq *cq = NULL, *short_cq = NULL;
	struct ibv_srq *srq = NULL;
	struct ibv_mr *mr = NULL;
	static char buffer[8];
	struct ibv_sge sge = { .addr = (uintptr_t)buffer, .length = sizeof(buffer) };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad_send;
	struct ibv_wc wc;
	void *qp_context = (void *)16, *cq_context = (void *)16, *srq_context = (void *)16;
	int i, established = 0;

	WANT(argc == 5);
	kind = argv[3];
	WANT(pipe(handled) == 0);
	WANT(dat_ia_open(argv[1], 8, &async, &ia) == DAT_SUCCESS);
	WANT(dat_pz_create(ia, &pz) == DAT_SUCCESS);
	WANT(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd) == DAT_SUCCESS);
	WANT(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connect_evd) == DAT_SUCCESS);
	WANT(dat_ep_create(ia, pz, evd, evd, connect_evd, NULL, &ep) == DAT_SUCCESS);
	WANT(dat_srq_create(ia, pz, &srq_attr, &srq_handle) == DAT_SUCCESS);
	if (strcmp(argv[4], "pointer") == 0) {
		qp_context = ep;
		cq_context = evd;
		srq_context = srq_handle;
	}

	channel = rdma_create_event_channel();
	WANT(channel != NULL);
	WANT(getaddrinfo(argv[2], NULL, &numeric, &address) == 0);
	WANT(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
	WANT(rdma_bind_addr(listener, address->ai_addr) == 0);
	WANT(rdma_listen(listener, 1) == 0);
	((struct sockaddr_in *)address->ai_addr)->sin_port = rdma_get_src_port(listener);
	WANT(rdma_create_id(channel, &active, NULL, RDMA_PS_TCP) == 0);
	WANT(rdma_resolve_addr(active, NULL, address->ai_addr, 2000) == 0);
	while (established < 2) {
		struct rdma_cm_event *e = await(channel);
		struct rdma_cm_id *id = e->id;
		enum rdma_cm_event_type type = e->event;

		WANT(rdma_ack_cm_event(e) == 0);
		switch (type) {
		case RDMA_CM_EVENT_ADDR_RESOLVED:
			WANT(rdma_resolve_route(active, 2000) == 0);
			continue;
		case RDMA_CM_EVENT_ESTABLISHED:
			established++;
			continue;
		case RDMA_CM_EVENT_ROUTE_RESOLVED:
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			break;
		default:
			fprintf(stderr, "%s\n", rdma_event_str(type));
			WANT(0);
		}

		struct ibv_qp_init_attr attr = {
			.qp_type = IBV_QPT_RC,
			.qp_context = qp_context,
			.cap = { .max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		};

		if (pd == NULL) {
			struct ibv_srq_init_attr srq_attr = {
				.srq_context = srq_context,
				.attr = { .max_wr = 8, .max_sge = 1 },
			};

			pd = ibv_alloc_pd(id->verbs);
			cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
			short_cq = ibv_create_cq(id->verbs, 1, cq_context, NULL, 0);
			WANT(pd && cq && short_cq);
			srq = ibv_create_srq(pd, &srq_attr);
			mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
			WANT(srq && mr);
			sge.lkey = mr->lkey;
			for (i = 0; i < 4; i++)
				WANT(ibv_post_srq_recv(srq, &recv, &bad_recv) == 0);
		}
		attr.send_cq = is("cq") ? short_cq : cq;
		attr.recv_cq = cq;
		if (id != active)
			attr.srq = srq;
		WANT(rdma_create_qp(id, pd, &attr) == 0);
		if (id == active) {
			WANT(rdma_connect(active, &param) == 0);
		} else {
			passive = id;
			passive_qp = id->qp;
			WANT(rdma_accept(passive, &param) == 0);
		}
	}

	if (!is("cq")) {
		struct ibv_srq_attr limit = { .srq_limit = 4 };

		WANT(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT) == 0);
	}
	for (i = 0; i < 4; i++)
		WANT(ibv_post_send(active->qp, &send, &bad_send) == 0);
	await_handled(is("srq") ? IBV_EVENT_SRQ_LIMIT_REACHED : is("cq") ? IBV_EVENT_CQ_ERR : IBV_EVENT_QP_FATAL);
	WANT(DAT_GET_TYPE(dat_evd_dequeue(async, &event)) == DAT_QUEUE_EMPTY);

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
	rdma_destroy_qp(active);
	rdma_destroy_qp(passive);
	WANT(rdma_destroy_id(active) == 0);
	WANT(rdma_destroy_id(passive) == 0);
	WANT(rdma_destroy_id(listener) == 0);
	rdma_destroy_event_channel(channel);
	WANT(ibv_destroy_srq(srq) == 0);
	WANT(ibv_destroy_cq(short_cq) == 0);
	WANT(ibv_destroy_cq(cq) == 0);
	WANT(ibv_dereg_mr(mr) == 0);
	WANT(ibv_dealloc_pd(pd) == 0);

	WANT(dat_srq_free(srq_handle) == DAT_SUCCESS);
	WANT(dat_ep_free(ep) == DAT_SUCCESS);
	WANT(dat_evd_free(connect_evd) == DAT_SUCCESS);
	WANT(dat_evd_free(evd) == DAT_SUCCESS);
	WANT(dat_pz_free(pz) == DAT_SUCCESS);
	WANT(DAT_GET_TYPE(dat_evd_dequeue(async, &event)) == DAT_QUEUE_EMPTY);
	WANT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS);
	return 0;
}
`

// Asynchronous events of what other parts of the process have made with librdmacm, which has one context of a device for
// all, are none of the adapter. Socket CM has a context of its own.
func TestEventsOfStrangers(t *testing.T) {
	program := between.Program(t, strangerProgram, fmt.Sprintf("-DPATIENCE_MS=%d", udattest.Patience.Milliseconds()), "-rdynamic", "-lrdmacm", "-ldl")
	for _, name := range udattest.Names(t) {
		if strings.Contains(name, "scm") {
			continue
		}
		for _, kind := range []string{"srq", "cq", "qp"} {
			for _, context := range []string{"number", "pointer"} {
				t.Run(strings.Join([]string{name, kind, context}, "/"), func(t *testing.T) {
					c := exec.CommandContext(udattest.Context(t), program, name, os.Getenv("UDAT_TEST_ADDR"), kind, context)
					if out, err := c.CombinedOutput(); err != nil {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		}
	}
}
