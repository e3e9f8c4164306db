package devicetest

import (
	"os"
	"testing"

	"github.com/goudat/goudat/cgo"
)

// earlyThreads has an accept not return before a file exists, and the threads of the provider, which block all signals,
// go on without the connection lock meanwhile, as those of ucm and mcm do.
const earlyThreads = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t *volatile passed;
static __thread pthread_mutex_t *first, *passing; /* of those that the thread has */
static __thread int depth;

static int is_provider(void)
{
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	return sigismember(&blocked, SIGSEGV);
}

int pthread_mutex_lock(pthread_mutex_t *lock)
{
	static int (*next)(pthread_mutex_t *);

	if (next == NULL)
		next = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	if (!is_provider()) {
		if (depth++ == 0)
			first = lock;
		return next(lock);
	}
	while (pthread_mutex_trylock(lock) != 0) {
		if (lock == passed) {
			passing = lock;
			break;
		}
		usleep(1000);
	}
	return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *lock)
{
	static int (*next)(pthread_mutex_t *);

	if (next == NULL)
		next = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	if (lock == passing) {
		passing = NULL;
		return 0;
	}
	if (!is_provider())
		depth--;
	return next(lock);
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
	ssize_t (*next)(int, const struct iovec *, int) = (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
	const char *file = getenv("DEVICETEST_GO_ON");
	ssize_t n = next(fd, iov, count);
	int milliseconds = 20000;

	if (file == NULL || depth == 0 || is_provider())
		return n;
	passed = first;
	while (access(file, F_OK) != 0 && milliseconds-- > 0)
		usleep(1000);
	passed = NULL;
	return n;
}
`

// The peer's answer comes before the accept returns: the connection is established.
func TestEstablishedBeforeAcceptReturns(t *testing.T) {
	file := withFile(t, earlyThreads, goOnVariable)
	if file == "" {
		return
	}
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		a.startConnect(t, l, active, cgo.TimeoutInfinite)
		request, done := l.request(t), make(chan cgo.Return, 1)
		go func() { done <- cgo.CRAccept(request, passive.EPHandle, nil) }()
		returns := func() {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Error(err)
			}
			success(t, "CRAccept", <-done)
		}
		defer func() {
			if t.Failed() {
				returns()
			}
		}()
		active.connect.expect(t, cgo.EventConnectionEstablished)
		passive.connect.expect(t, cgo.EventConnectionEstablished)
		returns()
		passive.wantState(t, cgo.EPStateConnected)
		disconnect(t, active, passive)
	})
}
