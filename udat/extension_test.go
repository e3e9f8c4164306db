package udat_test

import (
	"encoding/binary"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestRDMAWriteImmed(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		if lacksOperation(t, active, passive, udat.DTOIBRDMAWriteImmed) {
			return
		}
		remote := must(passive.Memory.RMRTriplet(1024, 100))
		const immediate = 0x12345678
		for i, size := range []int{0, 100} {
			fill(active.Memory.Bytes()[:size], byte(i))
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 7, 0))
			want(t, active.PostRDMAWriteImmed(one(active.Segment(t, 0, size)), 8, remote, immediate, 0))
			sent := udattest.Expect(t, active.Request, udat.EventDTOCompletion)
			if sent.Err() != nil || sent.Operation != udat.DTOIBRDMAWriteImmed || sent.Cookie != 8 || sent.EP() != active.EP {
				t.Errorf("the write completed as %+v", sent)
			}
			got := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion)
			if got.Err() != nil || got.Operation != udat.DTOIBRecvImmed || got.Cookie != 7 || got.Immediate != immediate ||
				int(got.Length) != size || got.EP() != passive.EP {
				t.Errorf("the receive completed as %+v", got)
			}
			if string(passive.Memory.Bytes()[1024:1024+size]) != string(active.Memory.Bytes()[:size]) {
				t.Error("the bytes arrived changed")
			}
		}
		// An ordinary message has no immediate value, and a receive that is
		// flushed, which the library reports in the same way, neither.
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 2, 0))
		want(t, active.PostSend(one(active.Segment(t, 0, 8)), 1, 0))
		if got := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion); got.Operation != udat.DTOReceive || got.Immediate != 0 {
			t.Errorf("the receive completed as %+v", got)
		}
		want(t, passive.EP.Disconnect(udat.CloseAbrupt))
		if got := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion); got.Operation != udat.DTOReceive || got.Status != udat.DTOErrFlushed || got.Immediate != 0 {
			t.Errorf("the flushed receive completed as %+v", got)
		}
	})
}

func TestAtomics(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		if lacksOperation(t, active, passive, udat.DTOIBFetchAdd) {
			return
		}
		lmr := untilEnd(t, must(udat.AllocMemory(passive.PZ, 4096, udat.MemPrivAll|udat.MemPrivIBRemoteAtomic)))
		counter := lmr.Bytes()[64:72]
		binary.NativeEndian.PutUint64(counter, 1000)
		remote := must(lmr.RMRTriplet(64, 8))
		old := active.Memory.Bytes()[8:16]
		local := active.Segment(t, 8, 8)
		expect := func(op udat.DTO, wantOld, wantNew uint64) {
			t.Helper()
			event := udattest.Expect(t, active.Request, udat.EventDTOCompletion)
			if event.Err() != nil || event.Operation != op || event.Cookie != 5 {
				t.Errorf("the operation completed as %+v", event)
			}
			if o, n := binary.NativeEndian.Uint64(old), binary.NativeEndian.Uint64(counter); o != wantOld || n != wantNew {
				t.Errorf("%v: the old value is %d and the new one %d, want %d and %d", op, o, n, wantOld, wantNew)
			}
		}
		want(t, active.PostFetchAndAdd(23, local, 5, remote, 0))
		expect(udat.DTOIBFetchAdd, 1000, 1023)
		want(t, active.PostCmpAndSwap(7, 8, local, 5, remote, 0))
		expect(udat.DTOIBCmpSwap, 1023, 1023)
		want(t, active.PostCmpAndSwap(1023, 8, local, 5, remote, 0))
		expect(udat.DTOIBCmpSwap, 1023, 8)
		remote.RMRContext ^= 0xff
		want(t, active.PostFetchAndAdd(23, local, 6, remote, 0))
		if event := udattest.Wait(t, active.Request); event.Cookie != 6 || event.Err() == nil || event.Length != 0 {
			t.Errorf("an operation on no memory of the peer completed as %+v", event)
		}
	})
}

// What the library would take and never complete is refused.
func TestExtensionsRefuse(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		if lacksOperation(t, active, passive, udat.DTOIBFetchAdd) || lacksOperation(t, active, passive, udat.DTOIBCmpSwap) ||
			lacksOperation(t, active, passive, udat.DTOIBRDMAWriteImmed) {
			return
		}
		aligned := must(passive.Memory.RMRTriplet(0, 16))
		odd := must(passive.Memory.RMRTriplet(4, 8))
		short := must(passive.Memory.RMRTriplet(0, 7))
		s8, s4 := active.Segment(t, 0, 8), active.Segment(t, 0, 4)
		want(t, active.PostFetchAndAdd(1, s4, 1, aligned, 0), udat.ErrInvalidParameter, udat.InvalidArg3)
		want(t, active.PostFetchAndAdd(1, udat.Segment{}, 1, aligned, 0), udat.ErrInvalidParameter, udat.InvalidArg3)
		want(t, active.PostFetchAndAdd(1, s8, 1, odd, 0), udat.ErrInvalidParameter, udat.InvalidArg5)
		want(t, active.PostCmpAndSwap(1, 2, s8, 1, short, 0), udat.ErrInvalidParameter, udat.InvalidArg5)
		want(t, active.PostCmpAndSwap(1, 2, s8, 1, aligned, 0x80), udat.ErrInvalidParameter, udat.InvalidArg6)
		want(t, active.PostRDMAWriteImmed(one(active.Segment(t, 0, 100)), 1, aligned, 1, 0), udat.ErrInvalidParameter)
		want(t, active.PostRDMAWriteImmed(one(s8), 1, aligned, 1, 0x80), udat.ErrInvalidParameter, udat.InvalidArg7)
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.PostFetchAndAdd(1, e.Segment(t, 0, 8), 1, aligned, 0), udat.ErrInvalidState, udat.InvalidStateEPUnconnected)
		want(t, e.EP.Free())
		want(t, e.PostCmpAndSwap(1, 2, s8, 1, aligned, 0), udat.ErrClosed)
		if s := status(t, active.EP); !s.RequestIdle {
			t.Errorf("after refusals the status is %+v", s)
		}

		want(t, active.Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, active.Connect, udat.EventConnectionDisconnected)
		want(t, active.PostFetchAndAdd(1, s8, 10, aligned, 0))
		flushed := udattest.Expect(t, active.Request, udat.EventDTOCompletion)
		if flushed.Cookie != 10 || flushed.Status != udat.DTOErrFlushed || flushed.Operation != udat.DTOIBFetchAdd {
			t.Errorf("after the connection an atomic operation completes with %+v", flushed)
		}
	})
}
