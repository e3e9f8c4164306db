package devicetest

import (
	"bytes"
	"testing"

	"github.com/goudat/goudat/cgo"
)

const (
	modifyQueues  = cgo.EPFieldRecvEVDHandle | cgo.EPFieldRequestEVDHandle
	modifyLengths = cgo.EPFieldMaxRecvDTOs | cgo.EPFieldMaxRequestDTOs
)

func (e *endpoint) query(t testing.TB) cgo.EPParam {
	t.Helper()
	var param cgo.EPParam
	success(t, "EPQuery", cgo.EPQuery(e.EPHandle, cgo.EPFieldAll, &param))
	return param
}

func (e *endpoint) modify(t testing.TB, mask cgo.EPParamMask, change func(*cgo.EPParam)) {
	t.Helper()
	param := e.query(t)
	change(&param)
	success(t, "EPModify", cgo.EPModify(e.EPHandle, mask, &param))
	got := e.query(t)
	got.LocalPortQual = param.LocalPortQual // the new queue pair's, with CMA
	if got != param {
		t.Errorf("a modified endpoint has the parameters\n%+v, want\n%+v", got, param)
	}
}

// wantNoModify expects that a change is refused, and that nothing changes.
func (e *endpoint) wantNoModify(t testing.TB, want cgo.ReturnType, mask cgo.EPParamMask, change func(*cgo.EPParam)) {
	t.Helper()
	before := e.query(t)
	param := before
	change(&param)
	if r := cgo.EPModify(e.EPHandle, mask, &param); r.Type() != want {
		t.Errorf("EPModify(%#x) returned %v, want %v", mask, r, want)
	}
	if after := e.query(t); after != before {
		t.Errorf("a refused change leaves the parameters\n%+v, want\n%+v", after, before)
	}
}

// postPieces posts a receive into a place of its own, in two pieces if the cookie is odd.
func (e *endpoint) postPieces(t testing.TB, m *memory, cookie uint64) {
	t.Helper()
	at := 1024 + 64*int(cookie)
	segments := []cgo.LMRTriplet{m.local(at, 64)}
	if cookie%2 == 1 {
		segments = []cgo.LMRTriplet{m.local(at+32, 10), m.local(at, 32)}
	}
	success(t, "EPPostRecv", cgo.EPPostRecv(e.EPHandle, segments, cookie, cgo.CompletionDefault))
}

// exchange sends a message for each receive of postPieces, with the cookies from 0 on.
func exchange(t testing.TB, from, to *endpoint, fromMemory, toMemory *memory, requests, receives queue, n uint64) {
	t.Helper()
	for cookie := range n {
		message := bytes.Repeat([]byte{byte('a' + cookie)}, 20)
		copy(fromMemory.bytes[32*cookie:], message)
		success(t, "EPPostSend", cgo.EPPostSend(from.EPHandle, []cgo.LMRTriplet{fromMemory.local(32*int(cookie), 20)}, cookie, cgo.CompletionDefault))
		requests.completion(t, cgo.EventDTOCompletion, cookie)
		event := receives.completion(t, cgo.EventDTOCompletion, cookie)
		if event.DTO().EPHandle != to.EPHandle {
			t.Errorf("a receive completed for the endpoint %#x, want %#x", event.DTO().EPHandle, to.EPHandle)
		}
		place := toMemory.bytes[1024+64*cookie:][:64]
		got := append([]byte{}, place[:20]...)
		if cookie%2 == 1 {
			got = append(append([]byte{}, place[32:42]...), place[:10]...)
		}
		if !bytes.Equal(got, message) {
			t.Errorf("message %d is %q, want %q", cookie, got, message)
		}
		clear(place)
	}
}

// The receives of an endpoint survive each change of it, and it behaves by the new parameters.
func TestEPModify(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		recv, request, connect := a.newQueue(t, cgo.EVDDTO), a.newQueue(t, cgo.EVDDTO), a.newQueue(t, cgo.EVDConnection)
		zone := a.newPZ(t)
		m := a.newMemory(t, zone)
		t.Cleanup(func() { // before the queues and the zone are freed
			for _, e := range []*endpoint{active, passive} {
				success(t, "EPModify", cgo.EPModify(e.EPHandle, modifyQueues|cgo.EPFieldConnectEVDHandle|cgo.EPFieldPZHandle, &cgo.EPParam{
					PZHandle: e.pz, RecvEVDHandle: e.recv.EVDHandle, RequestEVDHandle: e.request.EVDHandle, ConnectEVDHandle: e.connect.EVDHandle}))
			}
		})

		for cookie := range uint64(3) {
			passive.postPieces(t, passive.memory, cookie)
		}
		passive.modify(t, modifyLengths, func(p *cgo.EPParam) { p.EPAttr.MaxRecvDTOs, p.EPAttr.MaxRequestDTOs = 20, 12 })
		for cookie := uint64(3); cookie < 20; cookie++ {
			passive.postPieces(t, passive.memory, cookie)
		}
		if r := cgo.EPPostRecv(passive.EPHandle, nil, 20, cgo.CompletionDefault); r.Type() != cgo.InsufficientResources {
			t.Errorf("a receive beyond the new length: %v", r)
		}
		wantRefused(t, "EPPostRecv", cgo.EPPostRecv(active.EPHandle, active.memory.tooMany(), 1, cgo.CompletionDefault))
		passive.modify(t, modifyQueues, func(p *cgo.EPParam) { p.RecvEVDHandle, p.RequestEVDHandle = recv.EVDHandle, request.EVDHandle })
		for _, q := range []queue{passive.recv, passive.request} {
			unused := a.createEVD(t, queueLength, 0, cgo.EVDDTO)
			passive.modify(t, cgo.EPFieldRequestEVDHandle, func(p *cgo.EPParam) { p.RequestEVDHandle = unused })
			outcome(t, "EVDFree", cgo.EVDFree(unused), cgo.InvalidState, cgo.InvalidStateEVDInUse)
			passive.modify(t, cgo.EPFieldRequestEVDHandle, func(p *cgo.EPParam) { p.RequestEVDHandle = request.EVDHandle })
			success(t, "EVDFree", cgo.EVDFree(unused))
			q.empty(t)
		}
		testRefusedModify(t, a, passive, connect)
		active.modify(t, cgo.EPFieldPZHandle|cgo.EPFieldConnectEVDHandle|modifyLengths|cgo.EPFieldMaxRDMAReadIn, func(p *cgo.EPParam) {
			p.PZHandle, p.ConnectEVDHandle = zone, connect.EVDHandle
			p.EPAttr.MaxRecvDTOs, p.EPAttr.MaxRequestDTOs, p.EPAttr.MaxRDMAReadIn = 10, 3, 1
		})

		ends := *active
		ends.connect = connect
		for round := range 4 {
			a.connect(t, l, &ends, passive)
			active.wantNoModify(t, cgo.InvalidState, cgo.EPFieldMaxRequestDTOs, func(p *cgo.EPParam) { p.EPAttr.MaxRequestDTOs = 4 })
			exchange(t, active, passive, m, passive.memory, active.request, recv, 20)
			active.postPieces(t, m, 0)
			exchange(t, passive, active, passive.memory, m, request, active.recv, 1)
			passive.postPieces(t, passive.memory, 33) // to be flushed
			disconnect(t, &ends, passive)
			reset(t, active, passive)
			passive.modify(t, modifyLengths, func(p *cgo.EPParam) { p.EPAttr.MaxRecvDTOs, p.EPAttr.MaxRequestDTOs = 20+int32(round), 5 })
			recv.expectFlushed(t, 33)
			for cookie := range uint64(20) {
				if cookie == uint64(5*round) {
					passive.modify(t, cgo.EPFieldMaxRecvDTOs, func(p *cgo.EPParam) { p.EPAttr.MaxRecvDTOs = 30 })
				}
				passive.postPieces(t, passive.memory, cookie)
			}
			recv.empty(t)
		}
	})
}

// testRefusedModify tries what cannot change while the receives of the endpoint are posted.
func testRefusedModify(t *testing.T, a *adapter, e *endpoint, connect queue) {
	t.Helper()
	for mask, change := range map[cgo.EPParamMask]func(*cgo.EPParam){
		cgo.EPFieldEPState:          func(p *cgo.EPParam) {},
		1 << 40:                     func(p *cgo.EPParam) {},
		cgo.EPFieldMaxRecvDTOs:      func(p *cgo.EPParam) { p.EPAttr.MaxRecvDTOs = 19 },
		cgo.EPFieldMaxRecvIOV:       func(p *cgo.EPParam) { p.EPAttr.MaxRecvIOV = 1 }, // is seen when they are posted
		cgo.EPFieldMaxRequestDTOs:   func(p *cgo.EPParam) { p.EPAttr.MaxRequestDTOs = 1 << 30 },
		cgo.EPFieldMaxRequestIOV:    func(p *cgo.EPParam) { p.EPAttr.MaxRequestIOV = -1 },
		cgo.EPFieldRecvEVDHandle:    func(p *cgo.EPParam) { p.RecvEVDHandle = connect.EVDHandle },
		cgo.EPFieldRequestEVDHandle: func(p *cgo.EPParam) { p.RequestEVDHandle = 0 },
		cgo.EPFieldConnectEVDHandle: func(p *cgo.EPParam) { p.ConnectEVDHandle = e.recv.EVDHandle },
		cgo.EPFieldPZHandle:         func(p *cgo.EPParam) { p.PZHandle = 0 },
		cgo.EPFieldServiceType:      func(p *cgo.EPParam) { p.EPAttr.ServiceType++ },
		cgo.EPFieldQOS:              func(p *cgo.EPParam) { p.EPAttr.QOS++ },

		// No provider has such attributes, and none of them is none.
		cgo.EPFieldNumTransportAttr | cgo.EPFieldTransportSpecificAttr: func(p *cgo.EPParam) {},
		cgo.EPFieldNumProviderAttr | cgo.EPFieldProviderSpecificAttr:   func(p *cgo.EPParam) {},

		cgo.EPFieldMaxRDMAReadOut:      func(p *cgo.EPParam) { p.EPAttr.MaxRDMAReadOut = 1 << 20 },
		cgo.EPFieldRecvCompletionFlags: func(p *cgo.EPParam) { p.EPAttr.RecvCompletionFlags = cgo.CompletionSuppress },
	} {
		e.wantNoModify(t, cgo.InvalidParameter, mask, change)
	}
	e.wantNoModify(t, cgo.InvalidState, cgo.EPFieldRecvCompletionFlags, func(p *cgo.EPParam) {
		p.EPAttr.RecvCompletionFlags = cgo.CompletionSolicitedWait
	})
	if r := cgo.EPModify(0, cgo.EPFieldMaxRecvDTOs, &cgo.EPParam{}); r.Type() != cgo.InvalidHandle {
		t.Errorf("EPModify of no endpoint returned %v", r)
	}
}

// A reserved endpoint changes before a request and after it, and then accepts.
func TestEPModifyReserved(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		for _, rejected := range []bool{true, false} {
			active, reserved := a.newEndpoint(t), a.newEndpoint(t)
			rsp, l := a.reserve(t, reserved)
			reserved.postPieces(t, reserved.memory, 0)
			reserved.modify(t, modifyLengths, func(p *cgo.EPParam) { p.EPAttr.MaxRecvDTOs = 20 })
			request := a.ask(t, l, active)
			reserved.wantState(t, cgo.EPStatePassiveConnectionPending)
			reserved.postPieces(t, reserved.memory, 1)
			reserved.modify(t, modifyLengths, func(p *cgo.EPParam) { p.EPAttr.MaxRecvDTOs = 12 })
			reserved.wantNoModify(t, cgo.InvalidState, cgo.EPFieldPZHandle, func(*cgo.EPParam) {})
			if rejected {
				reject(t, request, active)
				success(t, "RSPFree", cgo.RSPFree(rsp))
				reset(t, active)
				a.connect(t, a.listen(t), active, reserved)
			} else {
				accept(t, request, 0, active, reserved)
				success(t, "RSPFree", cgo.RSPFree(rsp))
			}
			exchange(t, active, reserved, active.memory, reserved.memory, active.request, reserved.recv, 2)
			disconnect(t, active, reserved)
		}
	})
}

// An endpoint stays on the EVDs that have events of it. When these were taken, it may leave.
func TestEPModifyUntaken(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		other := a.newEndpoint(t)
		active, passive := a.connectedPair(t)
		passive.postPieces(t, passive.memory, 0)
		success(t, "EPDisconnect", cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt))
		eventually(t, "the end of the connection", func() bool { return passive.state(t) == cgo.EPStateDisconnected })
		reset(t, passive)
		toConnect := func(p *cgo.EPParam) { p.ConnectEVDHandle = other.connect.EVDHandle }
		toRecv := func(p *cgo.EPParam) { p.RecvEVDHandle = other.recv.EVDHandle }
		passive.wantNoModify(t, cgo.InvalidState, cgo.EPFieldConnectEVDHandle, toConnect)
		passive.connect.expect(t, cgo.EventConnectionDisconnected)
		passive.modify(t, cgo.EPFieldConnectEVDHandle, toConnect)
		passive.wantNoModify(t, cgo.InvalidState, cgo.EPFieldRecvEVDHandle, toRecv)
		passive.recv.expect(t, cgo.EventDTOCompletion)
		passive.modify(t, cgo.EPFieldRecvEVDHandle, toRecv)
	})
}

// A change for which the kernel has no queue pair, or does not get it ready, leaves the endpoint and its receives alone.
func TestEPModifyFails(t *testing.T) {
	preloaded(t, refusingKernel, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		for cookie := range uint64(4) {
			passive.postPieces(t, passive.memory, cookie)
		}
		for _, call := range []string{"create", "modify"} {
			tell(t, call)
			passive.wantNoModify(t, cgo.InsufficientResources, modifyLengths, func(p *cgo.EPParam) { p.EPAttr.MaxRecvDTOs = 20 })
			untell(t)
		}
		a.connect(t, l, active, passive)
		exchange(t, active, passive, active.memory, passive.memory, active.request, passive.recv, 4)
	})
}

// Receives with memory that another protection zone does not have fail at once. The others stay.
func TestEPModifyZone(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active, e := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		zone := a.newPZ(t)
		inside := a.newMemory(t, zone)
		post := func(cookie uint64, segments ...cgo.LMRTriplet) {
			success(t, "EPPostRecv", cgo.EPPostRecv(e.EPHandle, segments, cookie, cgo.CompletionDefault))
		}
		e.postPieces(t, inside, 0)
		post(10, e.memory.local(0, 8))
		post(11, inside.local(0, 8), e.memory.local(0, 8))
		e.postPieces(t, inside, 1)
		post(12, e.memory.local(0, 8), inside.local(0, 8))
		e.postPieces(t, inside, 2)
		t.Cleanup(func() { // before the zone is freed
			success(t, "EPModify", cgo.EPModify(e.EPHandle, cgo.EPFieldPZHandle, &cgo.EPParam{PZHandle: e.pz}))
		})
		e.modify(t, cgo.EPFieldPZHandle|cgo.EPFieldMaxRecvDTOs, func(p *cgo.EPParam) { p.PZHandle, p.EPAttr.MaxRecvDTOs = zone, 30 })
		for cookie := uint64(10); cookie <= 12; cookie++ {
			event := e.recv.expect(t, cgo.EventDTOCompletion)
			if dto := event.DTO(); dto.EPHandle != e.EPHandle || dto.UserCookie != cookie || dto.Status != cgo.DTOErrLocalProtection {
				t.Errorf("receive %d completed with %+v", cookie, dto)
			}
			wantOperation(t, event, cgo.DTOReceive, 0)
		}
		e.recv.empty(t)
		e.wantState(t, cgo.EPStateUnconnected)
		e.wantIdle(t, false, true)
		a.connect(t, l, active, e)
		exchange(t, active, e, active.memory, inside, active.request, e.recv, 3)
		e.wantIdle(t, true, true)
		disconnect(t, active, e)
		reset(t, e)
	})
}
