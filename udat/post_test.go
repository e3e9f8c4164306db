package udat_test

import (
	"bytes"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestRDMA(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		const size = 20000
		remote, err := passive.Memory.RMRTriplet(100, size)
		want(t, err)
		fill(active.Memory.Bytes()[:size], 3)
		want(t, active.PostRDMAWrite([]udat.Segment{active.Segment(t, 0, 7), active.Segment(t, 7, size-7)}, 1, remote, 0))
		event := udattest.Expect(t, active.Request, udat.EventDTOCompletion)
		if event.Err() != nil || event.Cookie != 1 || event.Operation != udat.DTORDMAWrite || event.Length != size {
			t.Errorf("the write completed as %+v", event)
		}
		if !bytes.Equal(passive.Memory.Bytes()[100:100+size], active.Memory.Bytes()[:size]) {
			t.Error("the write arrived changed")
		}
		want(t, active.PostRDMARead(one(active.Segment(t, 30000, size)), 2, remote, 0))
		event = udattest.Expect(t, active.Request, udat.EventDTOCompletion)
		if event.Err() != nil || event.Cookie != 2 || event.Operation != udat.DTORDMARead || event.Length != size {
			t.Errorf("the read completed as %+v", event)
		}
		if !bytes.Equal(active.Memory.Bytes()[30000:30000+size], active.Memory.Bytes()[:size]) {
			t.Error("the read arrived changed")
		}
		wantNoEvent(t, passive.Recv)
	})
}

// The same with memory of the Go heap.
func TestRegisteredSlice(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		memory := make([]byte, 5000)
		lmr, err := udat.RegisterMemory(passive.PZ, memory, udat.MemPrivLocalWrite)
		want(t, err)
		segment, err := lmr.Segment(0, len(memory))
		want(t, err)
		want(t, passive.PostRecv(one(segment), 1, 0))
		fill(active.Memory.Bytes()[:len(memory)], 9)
		want(t, active.PostSend(one(active.Segment(t, 0, len(memory))), 2, 0))
		event := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion)
		want(t, event.Err())
		if !bytes.Equal(memory, active.Memory.Bytes()[:len(memory)]) {
			t.Error("the message arrived changed")
		}
		want(t, passive.PostSend(one(segment), 3, 0), udat.ErrPrivilegesViolation, udat.PrivilegesRead)
		want(t, lmr.Free())
		want(t, passive.PostRecv(one(segment), 4, 0), udat.ErrClosed, udat.InvalidHandleLMR)
	})
}

func TestMemoryArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		pz, err := udat.CreatePZ(ia)
		want(t, err)
		defer pz.Free()
		memory := make([]byte, 100)
		_, err = udat.RegisterMemory(pz, nil, udat.MemPrivAll)
		want(t, err, udat.ErrInvalidParameter, udat.InvalidArg4)
		_, err = udat.RegisterMemory(pz, memory, 0)
		want(t, err, udat.ErrInvalidParameter, udat.InvalidArg6)
		_, err = udat.RegisterMemory(pz, memory, 0x1000)
		want(t, err, udat.ErrInvalidParameter)
		_, err = udat.RegisterMemory(pz, memory, udat.MemPrivRemoteWrite)
		want(t, err, udat.ErrInvalidParameter)
		_, err = udat.RegisterMemory(nil, memory, udat.MemPrivAll)
		want(t, err, udat.ErrInvalidHandle, udat.InvalidHandlePZ)
		_, err = udat.AllocMemory(pz, -1, udat.MemPrivAll)
		want(t, err, udat.ErrInvalidParameter)
		lmr, err := udat.RegisterMemory(pz, memory, udat.MemPrivAll)
		want(t, err)
		defer lmr.Free()
		for _, piece := range [][2]int{{-1, 1}, {0, -1}, {0, 101}, {100, 1}, {101, 0}, {1 << 62, 1 << 62}} {
			_, err := lmr.Segment(piece[0], piece[1])
			want(t, err, udat.ErrInvalidParameter)
			_, err = lmr.RMRTriplet(piece[0], piece[1])
			want(t, err, udat.ErrInvalidParameter)
		}
	})
}

func TestPostRefusals(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		unconnected := udattest.NewEndpoint(t, ia, nil)
		want(t, unconnected.PostSend(one(unconnected.Segment(t, 0, 1)), 0, 0), udat.ErrInvalidState, udat.InvalidStateEPUnconnected)

		active, passive := udattest.Pair(t, ia, nil)
		remote, err := passive.Memory.RMRTriplet(0, 100)
		want(t, err)
		want(t, active.PostSend(one(passive.Segment(t, 0, 1)), 0, 0), udat.ErrProtectionViolation)
		want(t, active.PostSend(one(active.Segment(t, 0, 1)), 0, 1<<20), udat.ErrInvalidParameter, udat.InvalidArg5)
		want(t, active.PostSend(make([]udat.Segment, 100), 0, 0), udat.ErrInvalidParameter, udat.InvalidArg2)
		want(t, active.PostRDMAWrite(one(active.Segment(t, 0, 101)), 0, remote, 0), udat.ErrInvalidParameter)
		want(t, active.PostRDMARead(one(active.Segment(t, 0, 101)), 0, remote, 0), udat.ErrInvalidParameter)
		if s := status(t, active.EP); !s.RequestIdle {
			t.Errorf("after refusals the status is %+v", s)
		}
		most := attributes(t, active.EP).MaxRequestDTOs
		for i := range most {
			want(t, active.PostSend(one(active.Segment(t, 0, 1)), uint64(i), 0))
		}
		want(t, active.PostSend(one(active.Segment(t, 0, 1)), 0, 0), udat.ErrInsufficientResources)
		// The refusal has not disturbed those that are outstanding.
		for range most {
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 1)), 0, 0))
		}
		for i := range most {
			event := udattest.Expect(t, active.Request, udat.EventDTOCompletion)
			if event.Err() != nil || event.Cookie != uint64(i) {
				t.Errorf("completion %d is %+v", i, event)
			}
		}
	})
}

// A message that is longer than the buffer for it fails on both sides and
// breaks the connection.
func TestMessageTooLong(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 100)), 1, 0))
		want(t, active.PostSend(one(active.Segment(t, 0, 4000)), 2, 0))
		for _, evd := range []*udat.EVD{passive.Recv, active.Request} {
			event := udattest.Expect(t, evd, udat.EventDTOCompletion)
			if event.Err() == nil || event.Status == udat.DTOErrFlushed || event.Length != 0 {
				t.Errorf("%v completed as %v", event.Operation, event.Status)
			}
			t.Logf("%v completed as %v", event.Operation, event.Status)
		}
		for _, e := range []*udattest.Endpoint{active, passive} {
			event := udattest.Wait(t, e.Connect)
			if event.Number != udat.EventConnectionBroken && event.Number != udat.EventConnectionDisconnected {
				t.Errorf("the connection ended with %v", event.Number)
			}
			wantState(t, e.EP, udat.EPStateDisconnected)
		}
	})
}

// Memory without the privilege cannot be reached by the peer.
func TestRemoteAccessDenied(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		local, err := udat.AllocMemory(passive.PZ, 4096, udat.MemPrivLocalRead|udat.MemPrivLocalWrite)
		want(t, err)
		defer local.Free()
		remote, err := local.RMRTriplet(0, 4096)
		want(t, err)
		want(t, active.PostRDMAWrite(one(active.Segment(t, 0, 4096)), 1, remote, 0))
		event := udattest.Expect(t, active.Request, udat.EventDTOCompletion)
		want(t, event.Err(), udat.DTOErrRemoteAccess)
		udattest.Expect(t, active.Connect, udat.EventConnectionBroken)
		want(t, passive.Disconnect(udat.CloseAbrupt))
	})
}
