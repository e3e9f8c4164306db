package devicetest

import (
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

func (a *adapter) newCNO(t *testing.T) cgo.CNOHandle {
	t.Helper()
	cno, r := cgo.CNOCreate(a.IAHandle, 0, 0)
	success(t, "CNOCreate", r)
	t.Cleanup(func() { success(t, "CNOFree", cgo.CNOFree(cno)) })
	return cno
}

func (a *adapter) newEVD(t *testing.T, cno cgo.CNOHandle, flags cgo.EVDFlags) cgo.EVDHandle {
	t.Helper()
	evd, r := cgo.EVDCreate(a.IAHandle, queueLength, cno, flags)
	success(t, "EVDCreate", r)
	return evd
}

// wantTriggered expects a CNO to return EVDs in an order, and then none. With iWARP a completion may come after that of the
// send, and trigger a CNO twice that is armed just then.
func (a *adapter) wantTriggered(t *testing.T, cno cgo.CNOHandle, evds ...cgo.EVDHandle) {
	t.Helper()
	for _, want := range evds {
		evd, r := cgo.CNOWait(cno, uint32(udattest.Patience/time.Microsecond))
		success(t, "CNOWait", r)
		if evd != want {
			t.Fatalf("the CNO returned the EVD %#x, want %#x of %#x", evd, want, evds)
		}
	}
	if a.iwarp && len(evds) > 0 {
		return
	}
	if evd, r := cgo.CNOWait(cno, 0); r.Type() != cgo.QueueEmpty || evd != 0 {
		t.Fatalf("the CNO returned the EVD %#x once more (%v)", evd, r)
	}
}

// wantTriggeredAgain expects a CNO to return an EVD that has an event already: once, and at most once more for each
// completion, of which the library's thread may learn only now.
func wantTriggeredAgain(t *testing.T, cno cgo.CNOHandle, want cgo.EVDHandle, completions uint64) {
	t.Helper()
	evd, r := cgo.CNOWait(cno, uint32(udattest.Patience/time.Microsecond))
	success(t, "CNOWait", r)
	if evd != want {
		t.Fatalf("the CNO returned the EVD %#x, want %#x", evd, want)
	}
	for late := uint64(0); late <= completions && r.OK() && evd == want; late++ {
		evd, r = cgo.CNOWait(cno, 0)
	}
	if r.Type() != cgo.QueueEmpty {
		t.Fatalf("the CNO returned the EVD %#x once more (%v)", evd, r)
	}
}

// waitFull waits until an EVD is full and takes its first event.
func waitFull(t *testing.T, evd cgo.EVDHandle, length int32, cookie uint64) {
	t.Helper()
	var event cgo.Event
	more, r := cgo.EVDWait(evd, cgo.TimeoutInfinite, length, &event)
	success(t, "EVDWait", r)
	if event.DTO().UserCookie != cookie || more != length-1 {
		t.Fatalf("got the event %d and %d more, want %d and %d", event.DTO().UserCookie, more, cookie, length-1)
	}
}

func dequeueCookie(t *testing.T, evd cgo.EVDHandle, cookie uint64) cgo.Event {
	t.Helper()
	var event cgo.Event
	success(t, "EVDDequeue", cgo.EVDDequeue(evd, &event))
	if got := event.DTO().UserCookie; got != cookie {
		t.Fatalf("got the event %d, want %d", got, cookie)
	}
	return event
}

// An EVD of completions changes its CNO, has none for a time, and loses no event. One that was made without keeps none.
func TestEVDModifyCNOOfCompletions(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		other := a.newCNO(t)
		without := a.newEVD(t, 0, cgo.EVDDTO)
		outcome(t, "EVDModifyCNO", cgo.EVDModifyCNO(without, other), cgo.ModelNotSupported, cgo.NoSubtype)
		success(t, "EVDFree", cgo.EVDFree(without))
		alone := a.newEVD(t, other, cgo.EVDDTO) // the others need the channel that it has had
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(alone, 0))
		success(t, "EVDFree", cgo.EVDFree(alone))

		active, passive := a.connectedPair(t)
		evd, cookie := passive.recv.EVDHandle, uint64(0)
		send := func() {
			passive.postRecv(t, cookie)
			success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 8)}, cookie, cgo.CompletionDefault))
			active.request.completion(t, cgo.EventDTOCompletion, cookie)
		}
		for range 3 {
			success(t, "EVDModifyCNO", cgo.EVDModifyCNO(evd, 0))
			send()
			waitFull(t, evd, 1, cookie)
			cookie++
			send()
			success(t, "EVDModifyCNO", cgo.EVDModifyCNO(evd, other))
			wantTriggeredAgain(t, other, evd, cookie+1)
			waitFull(t, evd, 1, cookie)
			cookie++
			success(t, "EVDModifyCNO", cgo.EVDModifyCNO(evd, passive.recv.cno))
			send()
			passive.recv.completion(t, cgo.EventDTOCompletion, cookie)
			cookie++
			a.wantTriggered(t, other)
		}

		success(t, "EVDDisable", cgo.EVDDisable(evd)) // first: the thread may still learn of a completion
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(evd, other))
		send()
		a.wantTriggered(t, other)
		success(t, "EVDEnable", cgo.EVDEnable(evd))
		wantTriggeredAgain(t, other, evd, cookie+1)
		waitFull(t, evd, 1, cookie)
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(evd, passive.recv.cno))
	})
}
