package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

type sharedQueue struct{ cgo.SRQHandle }

func (a *adapter) newSRQ(t testing.TB, pz cgo.PZHandle) sharedQueue {
	t.Helper()
	srq, r := cgo.SRQCreate(a.IAHandle, pz, &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 2})
	success(t, "SRQCreate", r)
	t.Cleanup(func() { success(t, "SRQFree", cgo.SRQFree(srq)) })
	return sharedQueue{srq}
}

func (q sharedQueue) query(t testing.TB) (param cgo.SRQParam) {
	t.Helper()
	success(t, "SRQQuery", cgo.SRQQuery(q.SRQHandle, cgo.SRQFieldAll, &param))
	return param
}

func (q sharedQueue) want(t testing.TB, want cgo.SRQParam) {
	t.Helper()
	if got := q.query(t); got != want {
		t.Errorf("got the parameters %+v, want %+v", got, want)
	}
}

func TestSRQQuery(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		pz := a.newPZ(t)
		m, srq := a.newMemory(t, pz), a.newSRQ(t, pz)
		want := cgo.SRQParam{
			IAHandle:    a.IAHandle,
			SRQState:    cgo.SRQStateOperational,
			PZHandle:    pz,
			MaxRecvDTOs: 8,
			MaxRecvIOV:  2,
		}
		srq.want(t, want)
		success(t, "SRQPostRecv", cgo.SRQPostRecv(srq.SRQHandle, []cgo.LMRTriplet{m.local(0, 64)}, 1))
		want.OutstandingDTOCount = 1
		want.AvailableDTOCount = cgo.ValueUnknown // an endpoint may have taken it
		srq.want(t, want)
	})
}

// newSharing makes an endpoint that takes its receives from a shared queue.
func (a *adapter) newSharing(t testing.TB) (e *endpoint, srq sharedQueue) {
	t.Helper()
	e = a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
		srq = a.newSRQ(t, e.pz)
		return cgo.EPCreateWithSRQ(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, srq.SRQHandle, endpointAttr())
	})
	return e, srq
}

func TestSRQTransfer(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		passive, srq := a.newSharing(t)
		outcome(t, "SRQFree", cgo.SRQFree(srq.SRQHandle), cgo.InvalidState, cgo.InvalidStateSRQInUse)
		segments := []cgo.LMRTriplet{passive.memory.local(0, 64)}
		outcome(t, "EPPostRecv", cgo.EPPostRecv(passive.EPHandle, segments, 1, cgo.CompletionDefault),
			cgo.InvalidState, cgo.InvalidStateSRQInUse)

		active := a.newEndpoint(t)
		a.connect(t, a.listen(t), active, passive, nil)
		success(t, "SRQPostRecv", cgo.SRQPostRecv(srq.SRQHandle, segments, 2))
		copy(active.memory.bytes, "shared")
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 6)}, 3, cgo.CompletionDefault))
		active.request.completion(t, cgo.EventDTOCompletion, 3)
		received := passive.recv.completion(t, cgo.EventDTOCompletion, 2)
		if dto := received.DTO(); uintptr(dto.EPHandle) != uintptr(srq.SRQHandle) || string(passive.memory.bytes[:dto.TransferredLength]) != "shared" {
			t.Errorf("received %q on %#x, want it on the queue, %#x", passive.memory.bytes[:dto.TransferredLength], dto.EPHandle, srq.SRQHandle)
		}
	})
}

func TestEPCreateWithSRQRefused(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		e := a.newEndpoint(t)
		ep, r := cgo.EPCreateWithSRQ(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, 0, endpointAttr())
		outcome(t, "EPCreateWithSRQ", r, cgo.InvalidHandle, cgo.InvalidHandleSRQ)
		if ep != 0 {
			t.Errorf("EPCreateWithSRQ gave the handle %#x though it failed", ep)
		}
	})
}
