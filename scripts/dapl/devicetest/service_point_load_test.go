package devicetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

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
	for deadline := time.Now().Add(udattest.Patience); time.Now().Before(deadline); {
		var event cgo.Event
		if cgo.EVDDequeue(e.connect.EVDHandle, &event).OK() {
			return event.Number
		}
		cgo.CNOWait(e.connect.cno, uint32(time.Second/time.Microsecond))
	}
	t.Errorf("no event came in %v", udattest.Patience)
	return 0
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

// answer takes a request, if one is there, and accepts it on a new endpoint, rejects it, or leaves it to the caller.
func (r *racer) answerOne(t *testing.T, requests queue) (unanswered cgo.CRHandle, there bool) {
	t.Helper()
	var event cgo.Event
	ret := cgo.EVDDequeue(requests.EVDHandle, &event)
	if ret.Type() == cgo.QueueEmpty {
		return 0, false
	}
	success(t, "EVDDequeue", ret)
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
	watchdog := time.AfterFunc(4*udattest.Patience, func() { panic("a call does not return") })
	defer watchdog.Stop()
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		qual := uint64(udattest.ConnQual())
		passive := a.newRacer(t, 1)
		evd, r := cgo.EVDCreate(a.IAHandle, room, 0, cgo.EVDCR)
		success(t, "EVDCreate", r)
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(evd)) })
		requests := queue{EVDHandle: evd}
		stop, established := a.flood(t, qual, 6)
		var unanswered []cgo.CRHandle
		points, reports := 0, 0
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); points++ {
			var psp cgo.PSPHandle
			untilFree(t, "PSPCreate", func() (r cgo.Return) {
				psp, r = cgo.PSPCreate(a.IAHandle, qual, requests.EVDHandle, cgo.PSPConsumer)
				return r
			})
			for range passive.random.IntN(6) {
				if cr, there := passive.answerOne(t, requests); cr != 0 {
					unanswered = append(unanswered, cr)
				} else if !there {
					passive.spin(time.Millisecond)
				}
			}
			success(t, "PSPFree", cgo.PSPFree(psp))
			reports += a.takeFullReports(t, evd)
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
			if cr, there := passive.answerOne(t, requests); cr != 0 {
				unanswered = append(unanswered, cr)
			} else if !there {
				select {
				case <-answered:
					done = true
				case <-time.After(time.Millisecond):
				}
			}
		}
		requests.empty(t)
		if reports += a.takeFullReports(t, evd); room == 1 && reports == 0 {
			t.Error("nothing says that the queue of requests was full")
		}
		t.Logf("%d service points, %d connections", points, established.Load())
		a.connectedPair(t)
	})
}

// An endpoint is reserved at a qualifier that peers connect to all the time. It is in the state of its request from the
// moment that it is reserved. The request is answered before or after its service point is freed.
func TestReservedUnderLoad(t *testing.T) {
	watchdog := time.AfterFunc(4*udattest.Patience, func() { panic("a call does not return") })
	defer watchdog.Stop()
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
				success(t, "EPReset", cgo.EPReset(reserved.EPHandle))
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
	for ; ; n++ {
		var event cgo.Event
		r := cgo.EVDDequeue(a.async, &event)
		if r.Type() == cgo.QueueEmpty {
			return n
		}
		success(t, "EVDDequeue", r)
		if of := event.AsyncError().Handle; event.Number != cgo.EventAsyncErrorEVDOverflow || of != uintptr(evd) {
			t.Fatalf("got the event %v of %#x, want %v of %#x", event.Number, of, cgo.EventAsyncErrorEVDOverflow, evd)
		}
	}
}
