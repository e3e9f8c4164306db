package devicetest

import (
	"bytes"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/scripts/dapl/devicetest/between"
	"github.com/goudat/goudat/udat/udattest"
)

// A CNO returns each EVD that has triggered it, once.
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
		send := func(cookie uint64) {
			passive.postRecv(t, cookie)
			active.deliver(t, cookie)
		}

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
	})
}

// An EVD that has triggered its CNO triggers the next one, and that alone.
func TestCNOLeft(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		former, next := a.newCNO(t), a.newCNO(t)
		evd := a.newEVD(t, queueLength, former, cgo.EVDSoftware)
		success(t, "EVDPostSE", cgo.EVDPostSE(evd, cgo.EventSoftware, 1))
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(evd, next))
		a.wantTriggered(t, former)
		a.wantTriggered(t, next, evd)
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

// cnoProgram looks at a CNO through its file.
const cnoProgram = `
#include <dat2/udat.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void want(int line, int ok)
{
	if (!ok) {
		fprintf(stderr, "line %d fails\n", line);
		exit(1);
	}
}
#define WANT(ok) want(__LINE__, ok)

static int readable(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd[2], got;
	DAT_CNO_HANDLE cno;
	DAT_CNO_PARAM param;
	DAT_IA_HANDLE ia;
	DAT_EVENT event;
	DAT_FD fd = -1;
	int i, round;

	WANT(argc == 2);
	WANT(dat_ia_open(argv[1], 8, &async, &ia) == DAT_SUCCESS);
	WANT(DAT_GET_TYPE(dat_cno_fd_create(DAT_HANDLE_NULL, &fd, &cno)) == DAT_INVALID_HANDLE);
	WANT(DAT_GET_TYPE(dat_cno_fd_create(ia, NULL, &cno)) == DAT_INVALID_PARAMETER);
	WANT(dat_cno_fd_create(ia, &fd, &cno) == DAT_SUCCESS && fd >= 0);
	WANT(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param) == DAT_SUCCESS);
	WANT(param.proxy_type == DAT_PROXY_TYPE_FD && param.proxy.fd == fd);
	WANT(DAT_GET_TYPE(dat_cno_trigger(DAT_HANDLE_NULL, &got)) == DAT_INVALID_HANDLE);
	WANT(DAT_GET_TYPE(dat_cno_trigger(cno, NULL)) == DAT_INVALID_PARAMETER);
	for (i = 0; i < 2; i++)
		WANT(dat_evd_create(ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd[i]) == DAT_SUCCESS);
	memset(&event, 0, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	for (round = 0; round < 3; round++) {
		WANT(!readable(fd));
		WANT(DAT_GET_TYPE(dat_cno_trigger(cno, &got)) == DAT_QUEUE_EMPTY);
		for (i = 0; i < 4; i++)
			WANT(dat_evd_post_se(evd[i % 2], &event) == DAT_SUCCESS);
		WANT(readable(fd));
		WANT(dat_cno_trigger(cno, &got) == DAT_SUCCESS && got == evd[0]);
		WANT(readable(fd));
		WANT(dat_cno_trigger(cno, &got) == DAT_SUCCESS && got == evd[1]);
		for (i = 0; i < 4; i++)
			WANT(dat_evd_dequeue(evd[i % 2], &event) == DAT_SUCCESS);
	}
	WANT(dat_evd_post_se(evd[0], &event) == DAT_SUCCESS && readable(fd));
	WANT(dat_evd_free(evd[0]) == DAT_SUCCESS && !readable(fd));
	WANT(DAT_GET_TYPE(dat_cno_free(cno)) == DAT_INVALID_STATE);
	WANT(dat_evd_free(evd[1]) == DAT_SUCCESS);
	WANT(dat_cno_free(cno) == DAT_SUCCESS);
	WANT(!readable(fd)); /* it is closed */
	WANT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS);
	return 0;
}
`

// A CNO has a file that is readable while an EVD that has triggered it can be taken.
func TestCNOFile(t *testing.T) {
	program := between.Program(t, cnoProgram)
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			if out, err := exec.CommandContext(udattest.Context(t), program, name).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
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
	event := dequeue(t, evd)
	if got := event.DTO().UserCookie; got != cookie {
		t.Fatalf("got the event %d, want %d", got, cookie)
	}
	return event
}

// An EVD of completions changes its CNO, has none for a time, and loses no event. One that was made without keeps none.
func TestEVDModifyCNOOfCompletions(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		other := a.newCNO(t)
		without := a.createEVD(t, queueLength, 0, cgo.EVDDTO)
		outcome(t, "EVDModifyCNO", cgo.EVDModifyCNO(without, other), cgo.ModelNotSupported, cgo.NoSubtype)
		success(t, "EVDFree", cgo.EVDFree(without))
		alone := a.createEVD(t, queueLength, other, cgo.EVDDTO) // the others need the channel that it has had
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(alone, 0))
		success(t, "EVDFree", cgo.EVDFree(alone))

		active, passive := a.connectedPair(t)
		evd, cookie := passive.recv.EVDHandle, uint64(0)
		send := func() {
			passive.postRecv(t, cookie)
			active.deliver(t, cookie)
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
