package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

func (a *adapter) newSRQ(t testing.TB, pz cgo.PZHandle) cgo.SRQHandle {
	t.Helper()
	srq, r := cgo.SRQCreate(a.IAHandle, pz, &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 2})
	success(t, "SRQCreate", r)
	t.Cleanup(func() { success(t, "SRQFree", cgo.SRQFree(srq)) })
	return srq
}

func TestSRQQuery(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		pz := a.newPZ(t)
		m, srq := a.newMemory(t, pz), a.newSRQ(t, pz)
		want := cgo.SRQParam{
			IAHandle:          a.IAHandle,
			SRQState:          cgo.SRQStateOperational,
			PZHandle:          pz,
			MaxRecvDTOs:       8,
			MaxRecvIOV:        2,
			AvailableDTOCount: cgo.ValueUnknown,
		}
		want.AvailableDTOCount = 8
		var param cgo.SRQParam
		success(t, "SRQQuery", cgo.SRQQuery(srq, cgo.SRQFieldAll, &param))
		if param != want {
			t.Errorf("got the parameters %+v, want %+v", param, want)
		}

		if r := cgo.SRQResize(srq, 16); a.iwarp {
			outcome(t, "SRQResize", r, cgo.InternalError, cgo.NoSubtype) // soft-iWARP's driver cannot
		} else {
			success(t, "SRQResize", r)
		}
		success(t, "SRQQuery", cgo.SRQQuery(srq, cgo.SRQFieldAll, &param))
		if param != want {
			t.Errorf("after SRQResize, got the parameters %+v, want %+v", param, want)
		}
		outcome(t, "SRQResize to the watermark", cgo.SRQResize(srq, 0), cgo.InvalidState, cgo.NoSubtype)
		outcome(t, "SRQSetLW", cgo.SRQSetLW(srq, 1), cgo.NotImplemented, cgo.NoSubtype)

		success(t, "SRQPostRecv", cgo.SRQPostRecv(srq, []cgo.LMRTriplet{m.local(0, 64)}, 1))
		want.OutstandingDTOCount = 1
		want.AvailableDTOCount = 7
		success(t, "SRQQuery", cgo.SRQQuery(srq, cgo.SRQFieldAll, &param))
		if param != want {
			t.Errorf("after SRQPostRecv, got the parameters %+v, want %+v", param, want)
		}
	})
}

func TestSRQTransfer(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		var srq cgo.SRQHandle
		passive := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
			srq = a.newSRQ(t, e.pz)
			return cgo.EPCreateWithSRQ(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, srq, endpointAttr())
		})
		outcome(t, "SRQFree", cgo.SRQFree(srq), cgo.InvalidState, cgo.InvalidStateSRQInUse)
		segments := []cgo.LMRTriplet{passive.memory.local(0, 64)}
		outcome(t, "EPPostRecv", cgo.EPPostRecv(passive.EPHandle, segments, 1, cgo.CompletionDefault),
			cgo.InvalidState, cgo.InvalidStateSRQInUse)

		active := a.newEndpoint(t)
		a.connect(t, a.listen(t), active, passive, nil)
		success(t, "SRQPostRecv", cgo.SRQPostRecv(srq, segments, 2))
		copy(active.memory.bytes, "shared")
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 6)}, 3, cgo.CompletionDefault))
		active.request.completion(t, cgo.EventDTOCompletion, 3)
		received := passive.recv.completion(t, cgo.EventDTOCompletion, 2)
		if dto := received.DTO(); uintptr(dto.EPHandle) != uintptr(srq) || string(passive.memory.bytes[:dto.TransferredLength]) != "shared" {
			t.Errorf("received %q on %#x, want it on the queue, %#x", passive.memory.bytes[:dto.TransferredLength], dto.EPHandle, srq)
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
