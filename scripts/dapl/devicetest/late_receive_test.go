package devicetest

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// slowEnd stops who moves a queue pair to the error state, when that is done, until a file exists.
const slowEnd = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

enum { state = 1, error = 6 };

int ibv_modify_qp(void *qp, int *attr, int mask);
int ibv_modify_qp(void *qp, int *attr, int mask)
{
	int (*modify)(void *, int *, int) = (int (*)(void *, int *, int))dlsym(RTLD_NEXT, "ibv_modify_qp");
	const char *file = getenv("DEVICETEST_GO_ON");
	int ret = modify(qp, attr, mask);
	int milliseconds = 20000;

	if (file != NULL && mask & state && attr[0] == error)
		while (access(file, F_OK) != 0 && milliseconds-- > 0)
			usleep(1000);
	return ret;
}
`

// goOnVariable names the file for which the end of a connection waits.
const goOnVariable = "DEVICETEST_GO_ON"

// A disconnect does not wait forever for a receive that is posted when the adapter has flushed what there was, as
// that of socket CM did.
func TestRecvDuringDisconnect(t *testing.T) {
	file := withFile(t, slowEnd, goOnVariable)
	if file == "" {
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			return // the kernel ends the connection by itself
		}
		active, passive := a.connectedPair(t)
		active.postRecv(t, 1)
		done := make(chan cgo.Return, 1)
		go func() { done <- cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt) }()
		active.recv.expectFlushed(t, 1)
		active.postRecv(t, 2)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case r := <-done:
			success(t, "EPDisconnect", r)
		case <-udattest.Context(t).Done():
			t.Fatal("the disconnect does not return")
		}
		active.recv.expectFlushed(t, 2)
		active.connect.expect(t, cgo.EventConnectionDisconnected)
		passive.connect.expect(t, cgo.EventConnectionDisconnected)
	})
}

// rnrTimers writes the pauses that a queue pair asks its peer for to a pipe when it is destroyed.
const rnrTimers = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <unistd.h>

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*destroy)(struct ibv_qp *) = dlsym(RTLD_NEXT, "ibv_destroy_qp");
	int (*query)(struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *) = dlsym(RTLD_NEXT, "ibv_query_qp");
	const char *pipe = getenv("DEVICETEST_TIMERS");
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init_attr;

	if (pipe != NULL && (query(qp, &attr, IBV_QP_MIN_RNR_TIMER, &init_attr) != 0 ||
			     write(atoi(pipe), &attr.min_rnr_timer, 1) != 1))
		abort();
	return destroy(qp);
}
`

// Both sides of a connection ask the peer for the pause in DAPL_RNR_TIMER before it sends again what came without a
// receive.
func TestRNRTimer(t *testing.T) {
	const variable, wanted = "DAPL_RNR_TIMER", "DEVICETEST_RNR_TIMER"
	want, err := strconv.Atoi(os.Getenv(wanted))
	if err != nil {
		library := buildPreload(t, rnrTimers)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) {
				runWith(t, library, "^TestRNRTimer$", wanted+"=12", "UDAT_TEST_IA="+name)
				runWith(t, library, "^TestRNRTimer$", wanted+"=9", variable+"=9", "UDAT_TEST_IA="+name)
			})
		}
		return
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			return // there is no such pause
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		t.Run("connection", func(t *testing.T) {
			t.Setenv("DEVICETEST_TIMERS", strconv.Itoa(int(w.Fd()))) // until the endpoints are freed
			a.connectedPair(t)
		})
		if err := r.SetReadDeadline(time.Now().Add(udattest.Patience)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var timer [1]byte
			if _, err := r.Read(timer[:]); err != nil {
				t.Fatal(err)
			}
			if int(timer[0]) != want {
				t.Errorf("the timer is %d, want %d", timer[0], want)
			}
		}
	})
}

// A message whose receive is posted late arrives soon after that, whichever side sends.
func TestLateReceive(t *testing.T) {
	const rounds, soon = 5, 300 * time.Millisecond // the longest pause is 655 ms
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			return // a message without a receive ends the connection
		}
		counter := "/sys/class/infiniband/" + a.device + "/ports/1/hw_counters/rcvd_rnr_err"
		if _, err := os.Stat(counter); err != nil {
			t.Logf("nothing to test: only soft-RoCE counts messages without a receive: %v", err)
			return
		}
		refusals := func() string {
			count, err := os.ReadFile(counter)
			if err != nil {
				t.Fatal(err)
			}
			return string(count)
		}
		active, passive := a.connectedPair(t)
		for _, side := range []struct{ from, to *endpoint }{{active, passive}, {passive, active}} {
			fastest := udattest.Patience
			for range rounds { // the machine may be busy
				before := refusals()
				success(t, "EPPostSend", cgo.EPPostSend(side.from.EPHandle, nil, 1, cgo.CompletionDefault))
				eventually(t, "a message is refused", func() bool { return refusals() != before })
				start := time.Now()
				side.to.postRecv(t, 2)
				side.from.request.completion(t, cgo.EventDTOCompletion, 1)
				fastest = min(fastest, time.Since(start))
				side.to.recv.completion(t, cgo.EventDTOCompletion, 2)
			}
			if fastest > soon {
				t.Errorf("a message takes %v after its receive is there", fastest)
			}
		}
	})
}
