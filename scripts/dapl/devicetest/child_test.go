package devicetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"testing"
	"time"

	"github.com/goudat/goudat/scripts/dapl/devicetest/between"
	"github.com/goudat/goudat/udat/udattest"
)

// prelude is what all preloaded libraries begin with.
const prelude = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The function that this library comes before. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
/* The same of the C library: found in the first call, as it cannot be while another library is unloaded. */
#define LIBC(name) ({ static __typeof__(&name) next; if (next == NULL) next = NEXT(name); next; })

/* The file that the test makes: see tell in child_test.go. */
static inline const char *told_file(void)
{
	const char *file = getenv("DEVICETEST_FILE");

	return file ? file : "";
}

static inline int told(void)
{
	return access(told_file(), F_OK) == 0;
}

/* Waits for the file, for 20 seconds at most. */
static inline void await_told(void)
{
	int milliseconds = 20000;

	while (!told() && milliseconds-- > 0)
		usleep(1000);
}

/* Whether a thread of a provider calls: these block all signals. */
static inline int is_provider(void)
{
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	return sigismember(&blocked, SIGSEGV);
}
`

const (
	childVariable = "DEVICETEST_CHILD" // is set in a process with a preloaded library
	fileVariable  = "DEVICETEST_FILE"  // names the file that the library looks for

	// overwriteFreed makes the C library overwrite memory when it is freed.
	overwriteFreed = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=90"

	threadDelay = 20 * time.Millisecond // is how long threads sleep that a library slows down
)

// slowThreads makes a provider's threads sleep for a moment whenever they have released a lock.
const slowThreads = `
int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int ret = LIBC(pthread_mutex_unlock)(mutex);

	if (is_provider())
		usleep(THREAD_DELAY_US);
	return ret;
}
`

func buildPreload(t *testing.T, source string) string {
	t.Helper()
	return between.Preload(t, prelude+source, fmt.Sprintf("-DTHREAD_DELAY_US=%d", threadDelay.Microseconds()))
}

// inChild runs the test in a new process for each adapter, with a preloaded library, and reports whether this is one.
func inChild(t *testing.T, source string, environment ...string) bool {
	t.Helper()
	if os.Getenv(childVariable) != "" {
		return true
	}
	library, test := buildPreload(t, source), "^"+t.Name()+"$"
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) { runWith(t, library, test, append(environment, "UDAT_TEST_IA="+name)...) })
	}
	return false
}

// preloaded runs a test on each adapter, in a process of its own with a preloaded library.
func preloaded(t *testing.T, source string, test func(t *testing.T, a *adapter), environment ...string) {
	t.Helper()
	if inChild(t, source, environment...) {
		forEachAdapter(t, test)
	}
}

// preloadedWith is preloaded for each of some settings, words of the environment.
func preloadedWith(t *testing.T, source string, settings []string, test func(t *testing.T, a *adapter)) {
	t.Helper()
	for _, setting := range settings {
		if inChild(t, source, strings.Fields(setting)...) {
			forEachAdapter(t, test)
			return
		}
	}
}

// preloadedSocketCM is preloaded for adapters of socket CM.
func preloadedSocketCM(t *testing.T, source string, test func(t *testing.T, a *adapter)) {
	t.Helper()
	if inChild(t, source) {
		forEachSocketCM(t, test)
	}
}

// runWith runs tests of this program in a new process with a preloaded library.
func runWith(t *testing.T, library, tests string, environment ...string) {
	t.Helper()
	runProcess(t, newProcess(t, library, tests, environment...))
}

func newProcess(t *testing.T, library, tests string, environment ...string) *exec.Cmd {
	t.Helper()
	own := []string{childVariable + "=1", fileVariable + "=" + filepath.Join(t.TempDir(), "file")}
	c := between.Command(udattest.Context(t), library, append(own, environment...)...)
	c.Args = append(c.Args, "-test.v", "-test.run", tests)
	return c
}

func runProcess(t *testing.T, c *exec.Cmd) {
	t.Helper()
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("a process of its own: %v", err)
	}
}

// tell makes the file that the preloaded library looks for, and untell removes it.
func tell(t testing.TB, content string) {
	t.Helper()
	do(t, os.WriteFile(os.Getenv(fileVariable), []byte(content), 0o600))
}

func untell(t testing.TB) {
	t.Helper()
	do(t, os.Remove(os.Getenv(fileVariable)))
}

func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The provider is unloaded with its last adapter. A thread that still runs its code then ends the process. The
// published library does not wait for its threads.
func TestUnload(t *testing.T) {
	if inChild(t, slowThreads) {
		for _, name := range udattest.Names(t) {
			t.Cleanup(func() { time.Sleep(10 * threadDelay) }) // nothing tells when a thread is gone
			openAdapter(t, name)
		}
	}
}
