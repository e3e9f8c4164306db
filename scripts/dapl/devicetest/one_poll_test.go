package devicetest

import (
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
)

// countedPolls writes a byte to a pipe for each question about one file.
const countedPolls = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	int (*next)(struct pollfd *, nfds_t, int) = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
	const char *pipe = getenv("DEVICETEST_POLLS");

	if (count == 1 && timeout == 0 && pipe != NULL && write(atoi(pipe), "", 1) != 1)
		abort();
	return next(fds, count, timeout);
}
`

// A connection costs no more system calls the more other connections there are.
func TestPollsOfConnections(t *testing.T) {
	if !isSlow(t, countedPolls) {
		return
	}
	watch(t)
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		const pairs = 50
		l, r := a.listen(t), a.newRacer(t, 1)
		connect := func() (from, to cgo.EPHandle) {
			from, to = r.newEndpoint(t), r.newEndpoint(t)
			r.connectTo(t, l, from, "")
			success(t, "CRAccept", cgo.CRAccept(l.request(t), to, nil))
			r.connect.expect(t, cgo.EventConnectionEstablished)
			r.connect.expect(t, cgo.EventConnectionEstablished)
			return from, to
		}
		var eps []cgo.EPHandle
		for range pairs {
			from, to := connect()
			eps = append(eps, from, to)
		}
		counted, pipe, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer counted.Close()
		os.Setenv("DEVICETEST_POLLS", strconv.Itoa(int(pipe.Fd())))
		from, to := connect()
		r.end(t, from, to)
		os.Unsetenv("DEVICETEST_POLLS")
		r.end(t, eps...)
		pipe.Close()
		polls, err := io.ReadAll(counted)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d calls of poll for one file", len(polls))
		if len(polls) > pairs {
			t.Errorf("%d calls of poll for a connection beside %d others", len(polls), pairs)
		}
	})
}

// failedPolls makes poll fail for sockets while a variable is set.
const failedPolls = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	int (*next)(struct pollfd *, nfds_t, int) = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
	int type;
	socklen_t size = sizeof(type);

	if (getenv("DEVICETEST_FAIL") != NULL && getsockopt(fds->fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0) {
		errno = ENOMEM;
		return -1;
	}
	return next(fds, count, timeout);
}
`

// A poll that fails says nothing of the sockets: connections go on, and new ones are made afterwards.
func TestFailedPolls(t *testing.T) {
	if !isSlow(t, failedPolls) {
		return
	}
	watch(t)
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		os.Setenv("DEVICETEST_FAIL", "1")
		l := a.listen(t) // which wakes the thread
		time.Sleep(100 * time.Millisecond)
		os.Unsetenv("DEVICETEST_FAIL")
		a.connect(t, l, a.newEndpoint(t), a.newEndpoint(t), nil)
		active.connect.empty(t)
		passive.connect.empty(t)
	})
}
