package devicetest

import (
	"bytes"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"

	"github.com/goudat/goudat/udat/udattest"
)

// A CNO returns each EVD that has triggered it, once. It does not return one that has moved to another CNO, which does.
func TestCNOOfSeveralEVDs(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		cno := a.newCNO(t)
		newEVD := func() cgo.EVDHandle { return a.newEVD(t, queueLength, cno, cgo.EVDSoftware) }
		first, second, third := a.createEVD(t, queueLength, cno, cgo.EVDSoftware), newEVD(), newEVD()
		recv := a.newEVD(t, queueLength, cno, cgo.EVDDTO)
		active := a.newEndpoint(t)
		passive := a.makeEndpoint(t, parts{recv: recv})
		a.connect(t, a.listen(t), active, passive)
		post := func(evd cgo.EVDHandle) { success(t, "EVDPostSE", cgo.EVDPostSE(evd, cgo.EventSoftware, 1)) }
		send := func(cookie uint64) { receive(t, active, passive, cookie, 1) }

		a.wantTriggered(t, cno)
		for _, evd := range []cgo.EVDHandle{second, first, second, third} {
			post(evd)
		}
		a.wantTriggered(t, cno, second, first, third)
		for cookie := range uint64(3) {
			send(cookie)
			a.wantTriggered(t, cno, recv)
			post(first)
			a.wantTriggered(t, cno, first)
		}
		for cookie := range uint64(3) {
			dequeueCookie(t, recv, cookie)
		}

		post(third)
		post(first)
		success(t, "EVDFree", cgo.EVDFree(first))
		a.wantTriggered(t, cno, third)
		post(second)
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(second, 0))
		a.wantTriggered(t, cno)
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(second, cno)) // it has events
		a.wantTriggered(t, cno, second)

		success(t, "EVDDisable", cgo.EVDDisable(recv))
		send(3)
		a.wantTriggered(t, cno)
		success(t, "EVDEnable", cgo.EVDEnable(recv))
		a.wantTriggered(t, cno, recv)
		dequeueCookie(t, recv, 3)

		next, moving := a.newCNO(t), a.newEVD(t, queueLength, cno, cgo.EVDSoftware)
		post(moving)
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(moving, next))
		a.wantTriggered(t, cno)
		a.wantTriggered(t, next, moving)
	})
}

// Two EVDs wake two threads.
func TestCNOWaiters(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		cno := a.newCNO(t)
		evds := []cgo.EVDHandle{a.newEVD(t, queueLength, cno, cgo.EVDSoftware), a.newEVD(t, queueLength, cno, cgo.EVDSoftware)}
		for range 50 {
			woken := make(chan cgo.Return, len(evds))
			for range evds {
				go func() {
					_, r := cgo.CNOWait(cno, cgo.TimeoutInfinite)
					woken <- r
				}()
			}
			eventually(t, "the waits", func() bool {
				stacks := make([]byte, 1<<20)
				return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("cgo.CNOWait(")) == len(evds)
			})
			for _, evd := range evds {
				success(t, "EVDPostSE", cgo.EVDPostSE(evd, cgo.EventSoftware, 1))
			}
			for _, evd := range evds {
				select {
				case r := <-woken:
					success(t, "CNOWait", r)
				case <-time.After(udattest.Patience):
					t.Fatal("a thread is not woken")
				}
				dequeue(t, evd)
			}
		}
	})
}

// A CNO has a file that is readable while an EVD that has triggered it can be taken.
func TestCNOFile(t *testing.T) {
	_, _, r := cgo.CNOFDCreate(0)
	same(t, "CNOFDCreate(0)", r.Type(), cgo.InvalidHandle)
	_, r = cgo.CNOTrigger(0)
	same(t, "CNOTrigger(0)", r.Type(), cgo.InvalidHandle)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		cno, fd, r := cgo.CNOFDCreate(a.IAHandle)
		success(t, "CNOFDCreate", r)
		wantReadable := func(want bool) {
			t.Helper()
			var set syscall.FdSet
			set.Bits[fd/64] |= 1 << (fd % 64)
			n, _ := syscall.Select(fd+1, &set, nil, nil, &syscall.Timeval{})
			same(t, "whether the file is readable", n == 1, want)
		}
		var param cgo.CNOParam
		success(t, "CNOQuery", cgo.CNOQuery(cno, cgo.CNOFieldAll, &param))
		same(t, "the kind of the CNO", param.ProxyType, cgo.ProxyTypeFD)
		var queues [2]queue
		for i := range queues {
			queues[i] = queue{EVDHandle: a.createEVD(t, 8, cno, cgo.EVDSoftware)}
		}
		for range 3 {
			wantReadable(false)
			_, r := cgo.CNOTrigger(cno)
			outcome(t, "CNOTrigger", r, cgo.QueueEmpty, cgo.NoSubtype)
			for i := range 4 {
				queues[i%2].post(t, 0, 1)
			}
			for _, q := range queues {
				wantReadable(true)
				same(t, "the EVD", must(cgo.CNOTrigger(cno))(t), q.EVDHandle)
				q.drain(t)
			}
		}
		queues[0].post(t, 0, 1)
		wantReadable(true)
		success(t, "EVDFree", cgo.EVDFree(queues[0].EVDHandle))
		wantReadable(false)
		same(t, "CNOFree", cgo.CNOFree(cno).Type(), cgo.InvalidState)
		success(t, "EVDFree", cgo.EVDFree(queues[1].EVDHandle))
		success(t, "CNOFree", cgo.CNOFree(cno))
		wantReadable(false) // it is closed
	})
}

// wantTriggered expects a CNO to return EVDs in an order, and then none. With iWARP a completion may come after that of the
// send, and trigger a CNO twice that is armed just then.
func (a *adapter) wantTriggered(t *testing.T, cno cgo.CNOHandle, evds ...cgo.EVDHandle) {
	t.Helper()
	for _, want := range evds {
		evd := must(cgo.CNOWait(cno, uint32(udattest.Patience/time.Microsecond)))(t)
		check(t, evd == want, "the CNO returned the EVD %#x, want %#x of %#x", evd, want, evds)
	}
	if a.iwarp && len(evds) > 0 {
		return
	}
	evd, r := cgo.CNOWait(cno, 0)
	check(t, r.Type() == cgo.QueueEmpty && evd == 0, "the CNO returned the EVD %#x once more (%v)", evd, r)
}

// wantTriggeredAgain expects a CNO to return an EVD that has an event already: once, and at most once more for each
// completion, of which the library's thread may learn only now.
func wantTriggeredAgain(t *testing.T, cno cgo.CNOHandle, want cgo.EVDHandle, completions uint64) {
	t.Helper()
	evd, r := cgo.CNOWait(cno, uint32(udattest.Patience/time.Microsecond))
	check(t, r.OK() && evd == want, "the CNO returned the EVD %#x (%v), want %#x", evd, r, want)
	for late := uint64(0); late <= completions && r.OK() && evd == want; late++ {
		evd, r = cgo.CNOWait(cno, 0)
	}
	check(t, r.Type() == cgo.QueueEmpty, "the CNO returned the EVD %#x once more (%v)", evd, r)
}

// waitFull waits until an EVD is full and takes its first event.
func waitFull(t *testing.T, evd cgo.EVDHandle, length int32, cookie uint64) {
	t.Helper()
	var event cgo.Event
	more := must(cgo.EVDWait(evd, cgo.TimeoutInfinite, length, &event))(t)
	if event.DTO().UserCookie != cookie || more != length-1 {
		t.Fatalf("got the event %d and %d more, want %d and %d", event.DTO().UserCookie, more, cookie, length-1)
	}
}

func dequeueCookie(t *testing.T, evd cgo.EVDHandle, cookie uint64) cgo.Event {
	t.Helper()
	event := dequeue(t, evd)
	same(t, "got the event", event.DTO().UserCookie, cookie)
	return event
}

// An EVD of completions changes its CNO, has none for a time, and loses no event. One that was made without keeps none.
func TestEVDModifyCNOOfCompletions(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		other := a.newCNO(t)
		without := a.newEVD(t, queueLength, 0, cgo.EVDDTO)
		outcome(t, "EVDModifyCNO", cgo.EVDModifyCNO(without, other), cgo.ModelNotSupported, cgo.NoSubtype)
		alone := a.createEVD(t, queueLength, other, cgo.EVDDTO) // the others need the channel that it has had
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(alone, 0))
		success(t, "EVDFree", cgo.EVDFree(alone))

		active, passive := a.connectedPair(t)
		evd, cookie := passive.recv.EVDHandle, uint64(0)
		send := func() { receive(t, active, passive, cookie, 1) }
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
