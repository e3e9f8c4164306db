package devicetest

import (
	"fmt"
	"os"
	"os/exec"

	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat/udattest"
)

// asyncEvents writes to a pipe which asynchronous events the library has handled. It can make each of them another one, of
// the newest object of that kind, or of a stranger's with the same context, or with a number for a context. The library of
// verbs acknowledges the event that it was. It can refuse them all.
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

#define ELEMENT(kind) ({ \
	static struct ibv_##kind strange; \
	strange = *kind; \
	if (stranger != NULL && atoi(stranger) != 0) \
		strange.kind##_context = (void *)(uintptr_t)atoi(stranger); \
	stranger != NULL ? &strange : kind; })

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	const char *type = getenv("DEVICETEST_EVENT"), *stranger = getenv("DEVICETEST_STRANGER");

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
		event->element.cq = ELEMENT(cq);
		break;
	case IBV_EVENT_QP_FATAL ... IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		event->element.qp = ELEMENT(qp);
		event->element.qp->qp_num += stranger != NULL;
		break;
	case IBV_EVENT_SRQ_ERR ... IBV_EVENT_SRQ_LIMIT_REACHED:
		event->element.srq = ELEMENT(srq);
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
	command(t, "rdma link add "+portDevice+" type "+string(kind)+" netdev "+portInterface)
	t.Cleanup(func() { command(t, "rdma link delete "+portDevice) })

	entries := [][3]string{{"port-cma", "libdaplofa.so.2", portInterface + " 0"}, {"port-scm", "libdaploscm.so.2", portDevice + " 1"}}
	if kind != control.RoCE {
		entries = entries[:1]
	}
	library, function := buildPreload(t, source), "^"+t.Name()+"$"
	for _, entry := range entries {
		t.Run(entry[0], func(t *testing.T) {
			command(t, "ip link set "+portInterface+" up") // the last process may have left it down
			runWith(t, library, function, append(environment, config(t, entry), "DAPL_SCM_NETDEV="+portInterface, portVariable+"="+entry[0])...)
		})
	}
}

func command(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	check(t, err == nil, "%s: %v\n%s", line, err, out)
}

// port is the port of an adapter. Its events are asynchronous.
type port struct {
	handled *os.File // has a byte for each event that the library has handled
	up      bool
}

func newPort(t *testing.T) *port {
	t.Helper()
	r, w := newPipe(t)
	t.Setenv("DEVICETEST_HANDLED", strconv.Itoa(int(w.Fd())))
	return &port{handled: r, up: true}
}

// newPipe makes a pipe that is read until the patience of tests ends.
func newPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	do(t, err)
	do(t, r.SetReadDeadline(time.Now().Add(udattest.Patience)))
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// toggle switches the port off or on, and waits until the library has handled the event.
func (p *port) toggle(t *testing.T) (handled int) {
	t.Helper()
	p.up = !p.up
	command(t, "ip link set "+portInterface+map[bool]string{true: " up", false: " down"}[p.up])
	var event [1]byte
	_, err := p.handled.Read(event[:])
	check(t, err == nil, "no event of the port came: %v", err)
	return int(event[0])
}

// The numbers of events of ibverbs.
const (
	portActive = 9
	portErr    = 10
)

// A port that goes down and comes back is no error of the adapter, and ends no connection.
func TestPortDown(t *testing.T) {
	onPort(t, func(t *testing.T, name string) {
		p, a := newPort(t), openAdapter(t, name)
		active, passive := a.connectedPair(t)
		for range 2 {
			for _, want := range []int{portErr, portActive} {
				same(t, "the event of ibverbs", p.toggle(t), want)
				a.noAsyncEvent(t)
			}
			receive(t, active, passive, 1, 1)
			passive.recv.completion(t, cgo.EventDTOCompletion, 1)
		}
		active.connect.empty(t)
		passive.connect.empty(t)
	})
}

func (a *adapter) noAsyncEvent(t *testing.T) {
	t.Helper()
	queue{EVDHandle: a.async}.empty(t)
}

// becomes has the next event of the port look like another, and waits until the library has handled it.
func (p *port) becomes(t *testing.T, ibv int) {
	t.Helper()
	os.Setenv("DEVICETEST_EVENT", fmt.Sprint(ibv))
	same(t, "the library has handled the event", p.toggle(t), ibv)
}

// Each event of ibverbs that is an error of an object comes with its number and object in DAT. The others do not come.
func TestAsyncEvents(t *testing.T) {
	onPort(t, func(t *testing.T, name string) {
		p, a := newPort(t), openAdapter(t, name)
		ep := a.newEndpoint(t)
		srq := a.newSRQ(t, ep.pz).SRQHandle
		type report struct {
			number cgo.EventNumber
			of     uintptr
		}
		broken := report{cgo.EventAsyncErrorEPBroken, uintptr(ep.EPHandle)}
		reported := map[int]report{
			0:  {cgo.EventAsyncErrorEVDOverflow, uintptr(ep.request.EVDHandle)}, // CQ_ERR
			1:  broken,                                                          // QP_FATAL
			2:  broken,                                                          // QP_REQ_ERR
			3:  broken,                                                          // QP_ACCESS_ERR
			8:  {cgo.EventAsyncErrorIACatastrophic, 0},                          // DEVICE_FATAL, of an address in the library
			14: {cgo.EventAsyncErrorProviderInternalError, uintptr(srq)},        // SRQ_ERR
		}
		const last, unknown = 8, 22 // there are none from 20 on
		for i := range unknown {
			ibv := (last + 1 + i) % unknown
			p.becomes(t, ibv)
			event, _ := queue{EVDHandle: a.async}.poll(t)
			of, want := uintptr(event.AsyncError().Handle), reported[ibv]
			if event.Number != want.number || want.of != 0 && of != want.of {
				t.Errorf("the event %d is reported as %v of %#x, want %v of %#x", ibv, event.Number, of, want.number, want.of)
			}
			a.noAsyncEvent(t)
		}

		// An endpoint without EVDs has a completion queue of its own.
		a.newBare(t, ep.pz, 0, 0, ep.connect.EVDHandle, nil)
		p.becomes(t, 0)
		a.noAsyncEvent(t)
	})
}

// Events of what others in the process have made, who share CMA's context of the device, are none of the adapter, though
// their objects may have the contexts of the adapter's.
func TestEventsOfStrangers(t *testing.T) {
	onPort(t, func(t *testing.T, name string) {
		p, a := newPort(t), openAdapter(t, name)
		a.newSRQ(t, a.newEndpoint(t).pz)
		for _, context := range []string{"0", "16"} {
			t.Setenv("DEVICETEST_STRANGER", context)
			for _, ibv := range []int{0, 1, 14, 15} { // CQ_ERR, QP_FATAL, SRQ_ERR, SRQ_LIMIT_REACHED
				p.becomes(t, ibv)
				a.noAsyncEvent(t)
			}
		}
	})
}

// newAsyncQueue makes a CNO for the asynchronous events of an adapter, to wait for them.
func (a *adapter) newAsyncQueue(t testing.TB) queue {
	t.Helper()
	cno := a.newCNO(t)
	success(t, "EVDModifyCNO", cgo.EVDModifyCNO(a.async, cno))
	t.Cleanup(func() { success(t, "EVDModifyCNO", cgo.EVDModifyCNO(a.async, 0)) })
	return queue{a.async, cno}
}

// wantLost expects the report that events of a kind do not come any more, once, and that no thread asks for them.
func (a *adapter) wantLost(t *testing.T, async queue) {
	t.Helper()
	event := async.expect(t, cgo.EventAsyncErrorProviderInternalError)
	of := must(cgo.GetIAHandle(cgo.IAHandle(event.AsyncError().Handle)))(t)
	same(t, "the error is of the adapter", of, a.IAHandle)
	const wait = time.Second
	before := processorTime(t)
	_, r := cgo.CNOWait(async.cno, uint32(wait/time.Microsecond))
	if r.OK() { // the trigger of the event that is taken
		before = processorTime(t)
		_, r = cgo.CNOWait(async.cno, uint32(wait/time.Microsecond))
	}
	outcome(t, "CNOWait", r, cgo.QueueEmpty, cgo.NoSubtype)
	used := processorTime(t) - before
	check(t, used <= wait/4, "the process was busy for %v of %v without an event", used, wait)
	async.empty(t)
}

// The kernel refuses the events of connections to a process that has changed its credentials. The process learns that
// when there is the first, and closes as usual.
func TestChangedCredentials(t *testing.T) {
	const variable, nobody = "DEVICETEST_QUALIFIER", 65534
	if text := os.Getenv(variable); text != "" {
		forEachAdapter(t, func(t *testing.T, a *adapter) {
			qual, err := strconv.ParseUint(text, 10, 64)
			do(t, err)
			async, requests := a.newAsyncQueue(t), a.newQueue(t, cgo.EVDCR)
			psp := must(cgo.PSPCreate(a.IAHandle, qual, requests.EVDHandle, cgo.PSPConsumer))(t)
			do(t, syscall.Setuid(nobody))
			_, err = os.NewFile(3, "ready").Write([]byte{1})
			do(t, err)
			a.wantLost(t, async)
			requests.empty(t)
			success(t, "PSPFree", cgo.PSPFree(psp))
		})
		return
	}
	if !udattest.InTestbed(t) {
		return
	}
	forEachCMA(t, func(t *testing.T, a *adapter) {
		ready, w := newPipe(t)
		qual, ended := uint64(udattest.ConnQual()), make(chan struct{})
		c := newProcess(t, "", "^TestChangedCredentials$", "UDAT_TEST_IA="+a.name, variable+"="+fmt.Sprint(qual))
		c.ExtraFiles = []*os.File{w}
		go func() { defer close(ended); runProcess(t, c) }()
		_, err := ready.Read(make([]byte, 1))
		if err == nil {
			e := a.newEndpoint(t)
			e.connectTo(t, a.address, qual, cgo.TimeoutInfinite)
			e.connect.next(t) // the process has ended: a rejection of either kind
		}
		<-ended
		do(t, err)
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
		passive.postRecv(t, 0)
		passive.postRecv(t, 1)
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
