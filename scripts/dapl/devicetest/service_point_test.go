package devicetest

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// reserve makes a service point that reserves an endpoint for a request. The caller frees it.
func (a *adapter) reserve(t *testing.T, e *endpoint) (cgo.RSPHandle, *listener) {
	t.Helper()
	l := &listener{qual: uint64(udattest.ConnQual()), requests: a.newQueue(t, cgo.EVDCR)}
	return a.reserveAt(t, l, e), l
}

func (a *adapter) reserveAt(t *testing.T, l *listener, e *endpoint) cgo.RSPHandle {
	t.Helper()
	rsp, r := cgo.RSPCreate(a.IAHandle, l.qual, e.EPHandle, l.requests.EVDHandle)
	success(t, "RSPCreate", r)
	e.wantState(t, cgo.EPStateReserved)
	return rsp
}

// establish connects an endpoint to a reserved one, and checks that the request names that.
func (a *adapter) establish(t *testing.T, l *listener, active, reserved *endpoint) {
	t.Helper()
	request := a.ask(t, l, active)
	reserved.wantState(t, cgo.EPStatePassiveConnectionPending)
	var param cgo.CRParam
	success(t, "CRQuery", cgo.CRQuery(request, cgo.CRFieldAll, &param))
	if param.LocalEPHandle != reserved.EPHandle {
		t.Errorf("the request names the endpoint %#x, want %#x", param.LocalEPHandle, reserved.EPHandle)
	}
	accept(t, request, 0, active, reserved)
}

// A qualifier is reserved once. Who asks for it again gets its endpoint back.
func TestRSPInUse(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, reserved, other := a.newEndpoint(t), a.newEndpoint(t), a.newEndpoint(t)
		rsp, l := a.reserve(t, reserved)
		_, r := cgo.RSPCreate(a.IAHandle, l.qual, other.EPHandle, l.requests.EVDHandle)
		outcome(t, "RSPCreate again", r, cgo.ConnQualInUse, cgo.NoSubtype)
		other.wantState(t, cgo.EPStateUnconnected)
		reserved.wantState(t, cgo.EPStateReserved)
		_, r = cgo.RSPCreate(a.IAHandle, l.qual+1, reserved.EPHandle, l.requests.EVDHandle)
		outcome(t, "RSPCreate for a reserved endpoint", r, cgo.InvalidState, cgo.InvalidStateEPReserved)
		_, r = cgo.PSPCreate(a.IAHandle, l.qual, l.requests.EVDHandle, cgo.PSPConsumer)
		outcome(t, "PSPCreate", r, cgo.ConnQualInUse, cgo.NoSubtype)
		outcome(t, "EPFree", cgo.EPFree(reserved.EPHandle), cgo.InvalidState, cgo.InvalidStateEPReserved)
		a.establish(t, l, active, reserved)
		success(t, "RSPFree", cgo.RSPFree(rsp))
		disconnect(t, active, reserved)
	})
}

// A qualifier is reserved again as soon as its service point is freed, whatever has become of the request: there was
// none, it is not answered yet, was rejected, or has led to a connection.
func TestRSPAgain(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		var e, active [3]*endpoint
		for i := range e {
			e[i], active[i] = a.newEndpoint(t), a.newEndpoint(t)
		}
		rsp, l := a.reserve(t, e[0])
		success(t, "RSPFree", cgo.RSPFree(rsp))
		e[0].wantState(t, cgo.EPStateUnconnected)

		rsp = a.reserveAt(t, l, e[0])
		a.establish(t, l, active[0], e[0])
		success(t, "RSPFree", cgo.RSPFree(rsp))
		psp, r := cgo.PSPCreate(a.IAHandle, l.qual, l.requests.EVDHandle, cgo.PSPConsumer)
		success(t, "PSPCreate", r)
		success(t, "PSPFree", cgo.PSPFree(psp))

		rsp = a.reserveAt(t, l, e[1])
		unanswered := a.ask(t, l, active[1])
		success(t, "RSPFree", cgo.RSPFree(rsp))
		e[1].wantState(t, cgo.EPStatePassiveConnectionPending)

		rsp = a.reserveAt(t, l, e[2])
		reject(t, a.ask(t, l, active[2]), active[2])
		e[2].wantState(t, cgo.EPStateUnconnected)
		success(t, "RSPFree", cgo.RSPFree(rsp))

		reject(t, unanswered, active[1])
		e[1].wantState(t, cgo.EPStateUnconnected)
		reset(t, active[1:]...)

		disconnect(t, active[0], e[0])
		for i := 1; i < len(e); i++ {
			rsp = a.reserveAt(t, l, e[i])
			a.establish(t, l, active[i], e[i])
			disconnect(t, active[i], e[i])
			success(t, "RSPFree", cgo.RSPFree(rsp))
		}
	})
}

// A service point takes one request. One for which its queue has no room does not count.
func TestRSPTakesOne(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		reserved, first, second := a.newEndpoint(t), a.newEndpoint(t), a.newEndpoint(t)
		l := &listener{qual: uint64(udattest.ConnQual()), requests: a.newQueue(t, cgo.EVDCR|cgo.EVDSoftware)}
		rsp := a.reserveAt(t, l, reserved)
		for i := range uint64(l.requests.length(t)) {
			success(t, "EVDPostSE", cgo.EVDPostSE(l.requests.EVDHandle, cgo.EventSoftware, i))
		}
		a.startConnect(t, l, first, cgo.TimeoutInfinite)
		first.connect.expect(t, cgo.EventConnectionNonPeerRejected)
		reserved.wantState(t, cgo.EPStateReserved)
		l.requests.drain(t)
		reset(t, first)

		request := a.ask(t, l, first)
		a.startConnect(t, l, second, cgo.TimeoutInfinite)
		second.connect.expect(t, cgo.EventConnectionNonPeerRejected)
		l.requests.empty(t)
		accept(t, request, 0, first, reserved)
		disconnect(t, first, reserved)
		success(t, "RSPFree", cgo.RSPFree(rsp))
	})
}

// The endpoint of a request that was rejected is freed, and another gets its address, before the service point is freed.
func TestRSPFreeAfterEndpoint(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, r := a.newEndpoint(t), a.newRacer(t, 1)
		first := &endpoint{EPHandle: r.newEndpoint(t)}
		rsp, l := a.reserve(t, first)
		reject(t, a.ask(t, l, active), active)
		success(t, "EPFree", cgo.EPFree(first.EPHandle))
		var made []*endpoint
		for range 64 { // the first, usually
			made = append(made, &endpoint{EPHandle: r.newEndpoint(t)})
			if made[len(made)-1].EPHandle == first.EPHandle {
				break
			}
		}
		last := made[len(made)-1]
		another, _ := a.reserve(t, last)
		success(t, "RSPFree", cgo.RSPFree(rsp))
		last.wantState(t, cgo.EPStateReserved)
		success(t, "RSPFree", cgo.RSPFree(another))
		for _, e := range made {
			success(t, "EPFree", cgo.EPFree(e.EPHandle))
		}
	})
}

// An adapter is closed abruptly, with a request of a reserved service point that is not answered, freed or not.
func TestCloseWithReserved(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		for _, freed := range []bool{false, true} {
			active := a.newEndpoint(t)
			again := a.openAgain(t)
			done, requests := again.createEVD(t, 8, 0, cgo.EVDDTO), again.createEVD(t, 8, 0, cgo.EVDCR)
			ep := again.createEP(t, again.createPZ(t), done, done, again.createEVD(t, 8, 0, cgo.EVDConnection), 0)
			qual := uint64(udattest.ConnQual())
			rsp, r := cgo.RSPCreate(again.IAHandle, qual, ep, requests)
			success(t, "RSPCreate", r)
			a.request(t, active, qual)
			awaitEvent(t, requests)
			if freed {
				success(t, "RSPFree", cgo.RSPFree(rsp))
			}
			success(t, "IAClose", cgo.IAClose(again.IAHandle, cgo.CloseAbrupt))
			active.connect.expect(t, cgo.EventConnectionPeerRejected)
		}
	})
}

// The service point of a request is freed, and then the request is accepted.
func TestAcceptAfterRSP(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, reserved := a.newEndpoint(t), a.newEndpoint(t)
		rsp, l := a.reserve(t, reserved)
		request := a.ask(t, l, active)
		success(t, "RSPFree", cgo.RSPFree(rsp))
		accept(t, request, 0, active, reserved)
		disconnect(t, active, reserved)
		reset(t, reserved)
		a.connect(t, a.listen(t), a.newEndpoint(t), reserved)
	})
}

// The peer of a reserved service point resets its TCP connection. The accept fails, and the request can be rejected.
func TestRejectAfterFailedAccept(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		_, message := a.oddPeer(t, a.address.Addr()).request(t)
		reserved := a.newEndpoint(t)
		rsp, l := a.reserve(t, reserved)
		conn := dial(t, a.tcpAddress(l.qual))
		write(t, conn, message)
		request := l.request(t)
		conn.SetLinger(0)
		conn.Close()
		if cgo.CRAccept(request, 0, nil).OK() {
			t.Fatal("an answer can be sent to a peer that has gone")
		}
		success(t, "CRReject", cgo.CRReject(request, nil))
		reserved.wantState(t, cgo.EPStateUnconnected)
		success(t, "RSPFree", cgo.RSPFree(rsp))
	})
}

// refusingListen makes the system refuse listeners while a file exists.
const refusingListen = `
/* Whether the file with this ending exists. */
static int refuses(const char *ending, int error)
{
	char name[4096];

	snprintf(name, sizeof name, "%s%s", told_file(), ending);
	if (access(name, F_OK) != 0)
		return 0;
	errno = error;
	return 1;
}

/* The address has gone, or somebody listens on all addresses. */
int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	if (refuses(".address", EADDRNOTAVAIL) ||
	    (refuses(".port", EADDRNOTAVAIL) && ((struct sockaddr_in *)address)->sin_port != 0))
		return -1;
	return NEXT(rdma_bind_addr)(id, address);
}

int listen(int fd, int backlog)
{
	return refuses("", ENOMEM) ? -1 : NEXT(listen)(fd, backlog);
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	return refuses("", ENOMEM) ? -1 : NEXT(rdma_listen)(id, backlog);
}
`

// The search for a free qualifier ends with the first error that another qualifier does not cure.
func TestPSPCreateAnyFails(t *testing.T) {
	preloaded(t, refusingListen, func(t *testing.T, a *adapter) {
		requests := a.newQueue(t, cgo.EVDCR)
		while := func(ending string, call func()) {
			file := os.Getenv(fileVariable) + ending
			do(t, os.WriteFile(file, nil, 0o600))
			call()
			do(t, os.Remove(file))
		}
		while("", func() {
			if _, _, r := cgo.PSPCreateAny(a.IAHandle, requests.EVDHandle, cgo.PSPConsumer); r.OK() || r.Type() == cgo.ConnQualUnavailable {
				t.Errorf("PSPCreateAny returned %v without a listener", r)
			}
		})
		if !isSocketCM(a) {
			while(".address", func() {
				_, _, r := cgo.PSPCreateAny(a.IAHandle, requests.EVDHandle, cgo.PSPConsumer)
				outcome(t, "PSPCreateAny", r, cgo.InvalidAddress, cgo.NoSubtype)
			})
			while(".port", func() {
				_, r := cgo.PSPCreate(a.IAHandle, uint64(udattest.ConnQual()), requests.EVDHandle, cgo.PSPConsumer)
				outcome(t, "PSPCreate", r, cgo.ConnQualInUse, cgo.NoSubtype)
			})
		}
		a.connectedPair(t)
	})
}

// Freeing a service point rejects the requests that nobody has taken, and no event names it any more. Those of another
// one on the same queue stay.
func TestFreeRejectsUntakenRequests(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		requests := a.newQueue(t, cgo.EVDCR)
		freed, freedQual := a.createPSP(t, requests.EVDHandle)
		stays, staysQual := a.createPSP(t, requests.EVDHandle)
		t.Cleanup(func() { success(t, "PSPFree", cgo.PSPFree(stays)) })

		var rejected []*endpoint
		for range 3 {
			e := a.newEndpoint(t)
			a.request(t, e, freedQual)
			requests.awaitTriggered(t)
			rejected = append(rejected, e)
		}
		accepted, passive := a.newEndpoint(t), a.newEndpoint(t)
		a.request(t, accepted, staysQual)
		requests.awaitTriggered(t)
		success(t, "PSPFree", cgo.PSPFree(freed))
		for _, e := range rejected {
			e.connect.expect(t, cgo.EventConnectionPeerRejected)
		}
		event := requests.expect(t, cgo.EventConnectionRequest)
		if data := event.CRArrival(); data.SPHandle != uintptr(stays) {
			t.Fatalf("the request is of the service point %#x, want %#x", data.SPHandle, stays)
		}
		accept(t, event.CRArrival().CRHandle, passive.EPHandle, accepted, passive)
		requests.empty(t)
		disconnect(t, accepted, passive)
	})
}

// Freeing a reserved service point, too: its endpoint is free again.
func TestFreeRejectsUntakenReservedRequest(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, reserved := a.newEndpoint(t), a.newEndpoint(t)
		rsp, l := a.reserve(t, reserved)
		a.request(t, active, l.qual)
		l.requests.awaitTriggered(t)
		reserved.wantState(t, cgo.EPStatePassiveConnectionPending)
		success(t, "RSPFree", cgo.RSPFree(rsp))
		active.connect.expect(t, cgo.EventConnectionPeerRejected)
		l.requests.empty(t)
		reserved.wantState(t, cgo.EPStateUnconnected)
		reset(t, active)
		a.connect(t, a.listen(t), active, reserved)
		disconnect(t, active, reserved)
	})
}

// request has an endpoint ask for a connection.
func (a *adapter) request(t *testing.T, e *endpoint, qual uint64) {
	t.Helper()
	e.connectTo(t, a.address, qual, cgo.TimeoutInfinite)
}

// awaitTriggered waits for an event, and leaves it in the queue.
func (q queue) awaitTriggered(t *testing.T) {
	t.Helper()
	_, r := cgo.CNOWait(q.cno, uint32(udattest.Patience/time.Microsecond))
	success(t, "CNOWait", r)
}

// flood has endpoints connect to a qualifier again and again, whether or not anything listens there, until stop, which
// waits until all have an answer.
func (a *adapter) flood(t *testing.T, qual uint64, endpoints int) (stop func(), established *atomic.Int64) {
	t.Helper()
	established = new(atomic.Int64)
	var ended atomic.Bool
	var all sync.WaitGroup
	for range endpoints {
		e := a.newEndpoint(t)
		all.Add(1)
		go func() {
			defer all.Done()
			for !ended.Load() {
				if e.attempt(t, a.address, qual) {
					established.Add(1)
				}
				if r := cgo.EPReset(e.EPHandle); !r.OK() {
					t.Errorf("EPReset returned %v", r)
					return
				}
			}
		}()
	}
	return func() { ended.Store(true); all.Wait() }, established
}

// attempt connects, and disconnects if that succeeds.
func (e *endpoint) attempt(t *testing.T, address *cgo.SockAddr, qual uint64) (established bool) {
	r := cgo.EPConnect(e.EPHandle, address, qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault)
	if !r.OK() {
		t.Errorf("EPConnect returned %v", r)
		return false
	}
	if number := e.connectEvent(t); number != cgo.EventConnectionEstablished {
		return false
	}
	if r := cgo.EPDisconnect(e.EPHandle, cgo.CloseAbrupt); !r.OK() {
		t.Errorf("EPDisconnect returned %v", r)
	}
	e.connectEvent(t)
	return true
}

// connectEvent is next for goroutines of a test.
func (e *endpoint) connectEvent(t *testing.T) cgo.EventNumber {
	var event cgo.Event
	if _, r := cgo.EVDWait(e.connect.EVDHandle, uint32(udattest.Patience/time.Microsecond), 1, &event); !r.OK() {
		t.Errorf("no event came: %v", r)
	}
	return event.Number
}

// untilFree tries until the qualifier is free: the kernel may take a moment to release the port.
func untilFree(t *testing.T, call string, create func() cgo.Return) {
	t.Helper()
	eventually(t, call, func() bool {
		r := create()
		if r.Type() == cgo.ConnQualInUse {
			return false
		}
		success(t, call, r)
		return true
	})
}

// answerOne takes a request, if one is there, and accepts it on a new endpoint, rejects it, or leaves it to the caller.
func (r *racer) answerOne(t *testing.T, requests queue) (unanswered cgo.CRHandle, there bool) {
	t.Helper()
	var event cgo.Event
	if !cgo.EVDDequeue(requests.EVDHandle, &event).OK() {
		return 0, false
	}
	cr := event.CRArrival().CRHandle
	switch r.random.IntN(3) {
	case 0:
		return cr, true
	case 1:
		success(t, "CRReject", cgo.CRReject(cr, nil))
	case 2:
		r.serve(t, cr)
	}
	return 0, true
}

// serve accepts a request, and waits until its peer has disconnected.
func (r *racer) serve(t *testing.T, cr cgo.CRHandle) {
	t.Helper()
	ep := r.newEndpoint(t)
	if !cgo.CRAccept(cr, ep, nil).OK() {
		success(t, "CRReject", cgo.CRReject(cr, nil))
	} else if r.connect.next(t).Number == cgo.EventConnectionEstablished {
		r.connect.next(t)
	}
	r.end(t, ep)
}

// Service points come and go at a qualifier that peers connect to all the time. Requests that have arrived before one is
// freed are answered then or later, and nothing else comes from it. All requests get an answer.
func TestServicePointsUnderLoad(t *testing.T) { servicePointsUnderLoad(t, queueLength) }

// The same with a queue that is full all the time.
func TestServicePointsWithFullQueue(t *testing.T) { servicePointsUnderLoad(t, 1) }

func servicePointsUnderLoad(t *testing.T, room int32) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		qual := uint64(udattest.ConnQual())
		passive := a.newRacer(t, 1)
		requests := queue{EVDHandle: a.newEVD(t, room, 0, cgo.EVDCR)}
		stop, established := a.flood(t, qual, 6)
		var unanswered []cgo.CRHandle
		answer := func() (there bool) {
			cr, there := passive.answerOne(t, requests)
			if cr != 0 {
				unanswered = append(unanswered, cr)
			}
			return there
		}
		points, reports := 0, 0
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); points++ {
			var psp cgo.PSPHandle
			untilFree(t, "PSPCreate", func() (r cgo.Return) {
				psp, r = cgo.PSPCreate(a.IAHandle, qual, requests.EVDHandle, cgo.PSPConsumer)
				return r
			})
			for range passive.random.IntN(6) {
				if !answer() {
					passive.spin(time.Millisecond)
				}
			}
			success(t, "PSPFree", cgo.PSPFree(psp))
			reports += a.takeFullReports(t, requests.EVDHandle)
			for len(unanswered) > 2 {
				if passive.random.IntN(2) == 0 {
					passive.serve(t, unanswered[0])
				} else {
					success(t, "CRReject", cgo.CRReject(unanswered[0], nil))
				}
				unanswered = unanswered[1:]
			}
		}
		answered := make(chan struct{})
		go func() { stop(); close(answered) }()
		for done := false; !done; { // what is there still, and what comes
			for _, cr := range unanswered {
				success(t, "CRReject", cgo.CRReject(cr, nil))
			}
			unanswered = nil
			if !answer() {
				select {
				case <-answered:
					done = true
				case <-time.After(time.Millisecond):
				}
			}
		}
		requests.empty(t)
		if reports += a.takeFullReports(t, requests.EVDHandle); room == 1 && reports == 0 {
			t.Error("nothing says that the queue of requests was full")
		}
		t.Logf("%d service points, %d connections", points, established.Load())
		a.connectedPair(t)
	})
}

// An endpoint is reserved at a qualifier that peers connect to all the time. It is in the state of its request from the
// moment that it is reserved. The request is answered before or after its service point is freed.
func TestReservedUnderLoad(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := &listener{qual: uint64(udattest.ConnQual()), requests: a.newQueue(t, cgo.EVDCR)}
		random := a.newRacer(t, 1).random
		reserved := a.newEndpoint(t)
		stop, established := a.flood(t, l.qual, 6)
		points := 0
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); points++ {
			var rsp cgo.RSPHandle
			untilFree(t, "RSPCreate", func() (r cgo.Return) {
				rsp, r = cgo.RSPCreate(a.IAHandle, l.qual, reserved.EPHandle, l.requests.EVDHandle)
				return r
			})
			if random.IntN(4) == 0 {
				success(t, "RSPFree", cgo.RSPFree(rsp))
				if reserved.state(t) == cgo.EPStateUnconnected {
					l.requests.empty(t)
					continue
				}
				rsp = 0
			}
			request := l.request(t)
			reserved.wantState(t, cgo.EPStatePassiveConnectionPending)
			if rsp != 0 && random.IntN(2) == 0 {
				success(t, "RSPFree", cgo.RSPFree(rsp))
				rsp = 0
			}
			if random.IntN(2) == 0 {
				success(t, "CRReject", cgo.CRReject(request, nil))
				reserved.wantState(t, cgo.EPStateUnconnected)
			} else {
				success(t, "CRAccept", cgo.CRAccept(request, 0, nil))
				reserved.connect.expect(t, cgo.EventConnectionEstablished)
				reserved.connect.expect(t, cgo.EventConnectionDisconnected)
				reset(t, reserved)
			}
			if rsp != 0 {
				success(t, "RSPFree", cgo.RSPFree(rsp))
			}
		}
		stop()
		t.Logf("%d service points, %d connections", points, established.Load())
		a.connectedPair(t)
	})
}

// takeFullReports takes the reports that an EVD was full, and returns their number.
func (a *adapter) takeFullReports(t *testing.T, evd cgo.EVDHandle) (n int) {
	t.Helper()
	for event := (cgo.Event{}); cgo.EVDDequeue(a.async, &event).OK(); n++ {
		if of := event.AsyncError().Handle; event.Number != cgo.EventAsyncErrorEVDOverflow || of != uintptr(evd) {
			t.Fatalf("got the event %v of %#x, want %v of %#x", event.Number, of, cgo.EventAsyncErrorEVDOverflow, evd)
		}
	}
	return n
}
