//go:build linux

package devicetest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// newAsyncQueue makes a CNO for the asynchronous events of an adapter, to wait for them.
func (a *adapter) newAsyncQueue(t *testing.T) queue {
	t.Helper()
	cno, r := cgo.CNOCreate(a.IAHandle, 0, 0)
	success(t, "CNOCreate", r)
	success(t, "EVDModifyCNO", cgo.EVDModifyCNO(a.async, cno))
	t.Cleanup(func() {
		success(t, "EVDModifyCNO", cgo.EVDModifyCNO(a.async, 0))
		success(t, "CNOFree", cgo.CNOFree(cno))
	})
	return queue{a.async, cno}
}

// wantLost expects the report that events of a kind do not come any more, once, and that no thread asks for them.
func (a *adapter) wantLost(t *testing.T, async queue) {
	t.Helper()
	event := async.expect(t, cgo.EventAsyncErrorProviderInternalError)
	of, r := cgo.GetIAHandle(cgo.IAHandle(event.AsyncError().Handle))
	success(t, "GetIAHandle", r)
	if of != a.IAHandle {
		t.Errorf("the error is of the adapter %#x, want %#x", of, a.IAHandle)
	}
	const wait = time.Second
	before := processorTime(t)
	_, r = cgo.CNOWait(async.cno, uint32(wait/time.Microsecond))
	if r.OK() { // the trigger of the event that is taken
		before = processorTime(t)
		_, r = cgo.CNOWait(async.cno, uint32(wait/time.Microsecond))
	}
	outcome(t, "CNOWait", r, cgo.QueueEmpty, cgo.NoSubtype)
	if used := processorTime(t) - before; used > wait/4 {
		t.Errorf("the process was busy for %v of %v without an event", used, wait)
	}
	async.empty(t)
}

// credentialsVariable names the adapter for a process that changes its credentials.
const credentialsVariable = "DEVICETEST_CREDENTIALS"

// The kernel refuses the events of connections to a process that has changed its credentials. The process learns that
// when there is the first, and closes as usual.
func TestChangedCredentials(t *testing.T) {
	if name := os.Getenv(credentialsVariable); name != "" {
		watch(t)
		a := openAdapter(t, name)
		async := a.newAsyncQueue(t)
		l := a.listen(t)
		const nobody = 65534
		if err := syscall.Setuid(nobody); err != nil {
			t.Fatal(err)
		}
		ready := os.NewFile(3, "ready")
		if _, err := fmt.Fprintln(ready, l.qual); err != nil {
			t.Fatal(err)
		}
		a.wantLost(t, async)
		l.requests.empty(t)
		return
	}
	if !udattest.InTestbed(t) {
		return
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if isSocketCM(a) {
			t.Log("socket CM has no file of the connection manager")
			return
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		c := exec.CommandContext(udattest.Context(t), self, "-test.v", "-test.run", "^TestChangedCredentials$")
		c.Env = append(os.Environ(), credentialsVariable+"="+a.name)
		c.ExtraFiles = []*os.File{w}
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		err = c.Start()
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { t.Logf("%s", out.Bytes()) }()
		var qual uint64
		if _, err := fmt.Fscan(bufio.NewReader(r), &qual); err == nil {
			e := a.newEndpoint(t)
			e.connectTo(t, a.address, qual, cgo.TimeoutInfinite)
			if err := c.Wait(); err != nil {
				t.Errorf("the other process: %v", err)
			}
			e.connect.next(t) // the process has ended: a rejection of either kind
		} else {
			t.Errorf("the other process is not ready: %v (%v)", err, c.Wait())
		}
	})
}

// lostCompletions refuses all completion events, while a variable is set.
const lostCompletions = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

int ibv_get_cq_event(void *channel, void **cq, void **context);
int ibv_get_cq_event(void *channel, void **cq, void **context)
{
	int (*get)(void *, void **, void **) = dlsym(RTLD_NEXT, "ibv_get_cq_event");

	if (getenv("DEVICETEST_LOST") == NULL)
		return get(channel, cq, context);
	errno = EACCES;
	return -1;
}
`

// lostVariable makes calls for events fail.
const lostVariable = "DEVICETEST_LOST"

// Completion events that cannot be read are reported, and a wait for one returns the error.
func TestLostCompletionEvents(t *testing.T) {
	if os.Getenv(adapterVariable) == "" {
		library := buildPreload(t, lostCompletions)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) { runWith(t, library, "^TestLostCompletionEvents$", adapterVariable+"="+name) })
		}
		return
	}
	watch(t)
	a := openAdapter(t, os.Getenv(adapterVariable))
	async := a.newAsyncQueue(t)
	direct, r := cgo.EVDCreate(a.IAHandle, queueLength, 0, cgo.EVDDTO)
	success(t, "EVDCreate", r)
	t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(direct)) })
	active := a.newEndpoint(t)
	passive := a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
		return cgo.EPCreate(a.IAHandle, e.pz, direct, e.request.EVDHandle, e.connect.EVDHandle, endpointAttr())
	})
	a.connect(t, a.listen(t), active, passive, nil)
	var event cgo.Event
	_, r = cgo.EVDWait(direct, 0, 1, &event) // asks for a notification
	outcome(t, "EVDWait", r, cgo.TimeoutExpired, cgo.NoSubtype)
	_, r = cgo.CNOWait(active.request.cno, 0)
	outcome(t, "CNOWait", r, cgo.QueueEmpty, cgo.NoSubtype)

	os.Setenv(lostVariable, "1")
	for cookie := range uint64(2) {
		passive.postRecv(t, cookie)
	}
	success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, nil, 1, cgo.CompletionDefault))
	a.wantLost(t, async)
	_, r = cgo.EVDWait(direct, uint32(udattest.Patience/time.Microsecond), 2, &event)
	outcome(t, "EVDWait", r, cgo.PrivilegesViolation, cgo.NoSubtype)
	os.Unsetenv(lostVariable)
}

// Asynchronous events that cannot be read are reported.
func TestLostAsyncEvents(t *testing.T) {
	onPort(t, func(t *testing.T, name string) {
		a := openAdapter(t, name)
		async := a.newAsyncQueue(t)
		os.Setenv(lostVariable, "1")
		command(t, "ip link set "+portInterface+" down")
		a.wantLost(t, async)
		command(t, "ip link set "+portInterface+" up")
	})
}
