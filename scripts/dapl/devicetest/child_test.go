package devicetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/dapl/devicetest/between"
	"github.com/goudat/goudat/udat/udattest"
)

// threadDelay is how long a provider's threads sleep.
const threadDelay = 20 * time.Millisecond

// slowThreads makes a provider's threads, which block all signals, sleep for a moment whenever they have released a
// lock.
const slowThreads = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	/* found in the first call, as it cannot be while a library is unloaded */
	static int (*unlock)(pthread_mutex_t *);
	int ret;
	sigset_t blocked;

	if (unlock == NULL)
		unlock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	ret = unlock(mutex);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (sigismember(&blocked, SIGSEGV))
		usleep(THREAD_DELAY_US);
	return ret;
}
`

// threadDelayFlag is the compiler flag with the delay, for libraries that slow down threads.
func threadDelayFlag() string {
	return fmt.Sprintf("-DTHREAD_DELAY_US=%d", threadDelay.Microseconds())
}

// adapterVariable names the adapter that a process of TestUnload opens and closes.
const adapterVariable = "DEVICETEST_UNLOAD"

// The provider is unloaded with its last adapter. A thread that still runs its code then ends the process. The
// published library does not wait for its threads.
func TestUnload(t *testing.T) {
	if name := os.Getenv(adapterVariable); name != "" {
		t.Cleanup(func() { time.Sleep(10 * threadDelay) }) // nothing tells when a thread is gone
		openAdapter(t, name)
		return
	}
	library := buildPreload(t, slowThreads, threadDelayFlag())
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) { runWith(t, library, "^TestUnload$", adapterVariable+"="+name) })
	}
}

// runWith runs tests of this program in a new process with a preloaded library.
func runWith(t *testing.T, library, tests string, environment ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(udattest.Context(t), self, "-test.v", "-test.run", tests)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGQUIT) } // so that it tells where it waits
	c.WaitDelay = udattest.Patience
	c.Env = append(append(os.Environ(), "LD_PRELOAD="+library), environment...)
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("a process of its own: %v", err)
	}
}

// withFile runs the test in a new process for each adapter, with a preloaded library that looks for a file. It returns
// the name of the file in such a process, and "" in this one.
func withFile(t *testing.T, source, variable string) string {
	t.Helper()
	if file := os.Getenv(variable); file != "" {
		return file
	}
	library, test := buildPreload(t, source), "^"+t.Name()+"$"
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			runWith(t, library, test, variable+"="+filepath.Join(t.TempDir(), "file"), "UDAT_TEST_IA="+name)
		})
	}
	return ""
}

var buildPreload, buildProgram = between.Preload, between.Program
