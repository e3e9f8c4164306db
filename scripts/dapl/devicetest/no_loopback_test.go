//go:build linux

package devicetest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// namespaceVariable says that this process has a network namespace of its own.
const namespaceVariable = "DEVICETEST_NAMESPACE"

// An adapter opens and closes though the loopback interface is down, with an address or, as in a new network namespace,
// with none.
func TestOpenWithoutLoopback(t *testing.T) {
	if os.Getenv(namespaceVariable) == "" {
		if !udattest.InTestbed(t) {
			return
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(udattest.Context(t), self, "-test.v", "-test.run", "^TestOpenWithoutLoopback$")
		c.Env = append(os.Environ(), namespaceVariable+"=1", "DAPL_SCM_NETDEV=own")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		out, err := c.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Errorf("a process of its own: %v", err)
		}
		return
	}
	watch(t)
	ip(t, "link", "add", "own", "type", "dummy")
	ip(t, "address", "add", "192.0.2.1/24", "dev", "own") // which the adapter takes as its own
	openAll := func() {
		for _, name := range udattest.Names(t) {
			if strings.Contains(name, "scm") {
				ia, _, r := cgo.IAOpen(name, 8)
				success(t, "IAOpen", r)
				success(t, "IAClose", cgo.IAClose(ia, cgo.CloseGraceful))
			}
		}
	}
	openAll()
	ip(t, "link", "set", "lo", "up") // which adds the address
	ip(t, "link", "set", "lo", "down")
	openAll()
}

func ip(t *testing.T, arguments ...string) {
	t.Helper()
	if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("ip: %v: %s", err, out)
	}
}

// failedSend makes the next send of what wakes the thread fail once a variable is set, as if there were no memory.
const failedSend = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

ssize_t send(int fd, const void *message, size_t size, int flags)
{
	ssize_t (*next)(int, const void *, size_t, int) = (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");

	if (size == 2 && getenv("DEVICETEST_FAIL") != NULL) {
		unsetenv("DEVICETEST_FAIL");
		errno = ENOMEM;
		return -1;
	}
	return next(fd, message, size, flags);
}
`

// The thread is woken for an attempt though the first send to it fails.
func TestFailedWake(t *testing.T) {
	if !isSlow(t, failedSend) {
		return
	}
	watch(t)
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		time.Sleep(100 * time.Millisecond) // the thread has nothing to do any more
		os.Setenv("DEVICETEST_FAIL", "1")
		a.oddPeer(t, a.address.Addr()).request(t)
	})
}
