package devicetest

import (
	"os"
	"testing"

	"github.com/goudat/goudat/cgo"
)

func TestEVDQuery(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDConnection)
		var param cgo.EVDParam
		success(t, "EVDQuery", cgo.EVDQuery(q.EVDHandle, cgo.EVDFieldAll, &param))
		want := cgo.EVDParam{
			IAHandle:  a.IAHandle,
			QLen:      queueLength,
			State:     cgo.EVDStateEnabled | cgo.EVDStateWaitable,
			CNOHandle: q.cno,
			Flags:     cgo.EVDConnection,
		}
		if param != want {
			t.Errorf("got the parameters %+v, want %+v", param, want)
		}
		success(t, "EVDDisable", cgo.EVDDisable(q.EVDHandle))
		success(t, "EVDQuery", cgo.EVDQuery(q.EVDHandle, cgo.EVDFieldAll, &param))
		if param.State&cgo.EVDStateDisabled == 0 {
			t.Errorf("the state of a disabled EVD is %v", param.State)
		}
		success(t, "EVDEnable", cgo.EVDEnable(q.EVDHandle))
	})
}

func TestEVDDequeueEmpty(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		for _, flags := range []cgo.EVDFlags{cgo.EVDDTO, cgo.EVDCR, cgo.EVDConnection, cgo.EVDSoftware} {
			q := a.newQueue(t, flags)
			var event cgo.Event
			outcome(t, "EVDDequeue", cgo.EVDDequeue(q.EVDHandle, &event), cgo.QueueEmpty, cgo.NoSubtype)
			n, r := cgo.EVDDequeueBatch(q.EVDHandle, make([]cgo.Event, 4))
			outcome(t, "EVDDequeueBatch", r, cgo.QueueEmpty, cgo.NoSubtype)
			if n != 0 {
				t.Errorf("EVDDequeueBatch took %d events of an empty EVD", n)
			}
		}
	})
}

// EVDDequeue clears an event that there is not; the others write what there is.
func TestDequeueOfEmptyQueue(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDSoftware)
		for posted := range 3 {
			for name, dequeue := range map[string]func([]cgo.Event) (int, cgo.Return){
				"EVDDequeueBatch": func(events []cgo.Event) (int, cgo.Return) { return cgo.EVDDequeueBatch(q.EVDHandle, events) },
				"EVDSpin":         func(events []cgo.Event) (int, cgo.Return) { return cgo.EVDSpin(q.EVDHandle, events, 0) },
			} {
				for range posted {
					success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, 7))
				}
				events := make([]cgo.Event, 4)
				n, r := dequeue(events)
				outcome(t, name, r, cgo.QueueEmpty, cgo.NoSubtype)
				if n != posted {
					t.Errorf("%s took %d events, want %d", name, n, posted)
				}
				for _, e := range events[:n] {
					if e.Number != cgo.EventSoftware || e.Software().Pointer != 7 {
						t.Errorf("%s took %+v", name, e)
					}
				}
			}
		}
		event := cgo.Event{Number: cgo.EventSoftware}
		outcome(t, "EVDDequeue", cgo.EVDDequeue(q.EVDHandle, &event), cgo.QueueEmpty, cgo.NoSubtype)
		if event != (cgo.Event{}) {
			t.Errorf("EVDDequeue leaves %+v", event)
		}
	})
}

func TestEVDModifyCNO(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q, other := a.newQueue(t, cgo.EVDConnection), a.newQueue(t, cgo.EVDConnection)
		for _, cno := range []cgo.CNOHandle{0, other.cno, q.cno} {
			success(t, "EVDModifyCNO", cgo.EVDModifyCNO(q.EVDHandle, cno))
			var param cgo.EVDParam
			success(t, "EVDQuery", cgo.EVDQuery(q.EVDHandle, cgo.EVDFieldAll, &param))
			if param.CNOHandle != cno {
				t.Errorf("the EVD has the CNO %#x, want %#x", param.CNOHandle, cno)
			}
		}
	})
}

func TestCNO(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDConnection)
		evd, r := cgo.CNOWait(q.cno, 0)
		outcome(t, "CNOWait", r, cgo.QueueEmpty, cgo.NoSubtype)
		if evd != 0 {
			t.Errorf("CNOWait named the EVD %#x though nothing came", evd)
		}
		success(t, "CNOModifyAgent", cgo.CNOModifyAgent(q.cno, 0, 0))
		var param cgo.CNOParam
		success(t, "CNOQuery", cgo.CNOQuery(q.cno, cgo.CNOFieldAll, &param))
		if want := (cgo.CNOParam{IAHandle: a.IAHandle, ProxyType: cgo.ProxyTypeAgent}); param != want {
			t.Errorf("got the parameters %+v, want %+v", param, want)
		}
		outcome(t, "CNOFree", cgo.CNOFree(q.cno), cgo.InvalidState, cgo.InvalidStateCNOInUse)
	})
}

func TestEVDPostSE(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q, plain := a.newQueue(t, cgo.EVDSoftware), a.newQueue(t, cgo.EVDConnection)
		outcome(t, "EVDPostSE of another number", cgo.EVDPostSE(q.EVDHandle, cgo.EventDTOCompletion, 1), cgo.InvalidParameter, cgo.InvalidArg2)
		outcome(t, "EVDPostSE", cgo.EVDPostSE(plain.EVDHandle, cgo.EventSoftware, 1), cgo.InvalidParameter, cgo.InvalidArg1)

		const first = 0xfeedfacecafebeef
		for i := range uint64(2) {
			success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, first+i))
		}
		event := q.expect(t, cgo.EventSoftware)
		if event.Data[0] != first || event.EVD != q.EVDHandle {
			t.Errorf("got %#x from the EVD %#x, want %#x from %#x", event.Data[0], event.EVD, uint64(first), q.EVDHandle)
		}
		more, r := cgo.EVDWait(q.EVDHandle, 0, 1, &event)
		success(t, "EVDWait", r)
		if event.Data[0] != first+1 || more != 0 {
			t.Errorf("EVDWait gave %#x and %d more, want %#x and none", event.Data[0], more, uint64(first+1))
		}
	})
}

func TestEVDWait(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		q := a.newQueue(t, cgo.EVDSoftware)
		var event cgo.Event
		const millisecond = 1000
		_, r := cgo.EVDWait(q.EVDHandle, millisecond, 1, &event)
		outcome(t, "EVDWait", r, cgo.TimeoutExpired, cgo.NoSubtype)
		success(t, "EVDPostSE", cgo.EVDPostSE(q.EVDHandle, cgo.EventSoftware, 1))
		more, r := cgo.EVDWait(q.EVDHandle, millisecond, 2, &event)
		outcome(t, "EVDWait for two events", r, cgo.TimeoutExpired, cgo.NoSubtype)
		if more != 1 {
			t.Errorf("EVDWait for two events says that %d are queued, want 1", more)
		}

		success(t, "EVDSetUnwaitable", cgo.EVDSetUnwaitable(q.EVDHandle))
		_, r = cgo.EVDWait(q.EVDHandle, millisecond, 1, &event)
		outcome(t, "EVDWait", r, cgo.InvalidState, cgo.InvalidStateEVDUnwaitable)
		success(t, "EVDClearUnwaitable", cgo.EVDClearUnwaitable(q.EVDHandle))
		_, r = cgo.EVDWait(q.EVDHandle, millisecond, 1, &event)
		success(t, "EVDWait", r)
	})
}

// An EVD whose completion queue the kernel refuses is not made, and leaves nothing behind.
func TestEVDCreateRefused(t *testing.T) {
	file := withFile(t, refusingKernel, refuseVariable)
	if file == "" {
		return
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if err := os.WriteFile(file, []byte("queue"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, r := cgo.EVDCreate(a.IAHandle, queueLength, 0, cgo.EVDDTO)
		outcome(t, "EVDCreate", r, cgo.InsufficientResources, cgo.NoSubtype)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		a.newQueue(t, cgo.EVDDTO)
	})
}
