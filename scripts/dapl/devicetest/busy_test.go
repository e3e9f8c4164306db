package devicetest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// busyKernel makes the kernel refuse to destroy each queue for a while, as it does
// while another thread has a command for the queue under way.
const busyKernel = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

#define DESTROY(name)                                                         \
	int name(void *queue);                                                \
	int name(void *queue)                                                 \
	{                                                                     \
		static __thread void *last; /* librdmacm tries some only once */ \
		static __thread double since;                                 \
		int (*destroy)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, #name); \
                                                                              \
		if (queue != last)                                            \
			since = now();                                        \
		last = queue;                                                 \
		if (now() < since + BUSY_MS / 1e3)                            \
			return errno = EBUSY;                                 \
		last = NULL;                                                  \
		return destroy(queue);                                        \
	}

DESTROY(ibv_destroy_qp)
DESTROY(ibv_destroy_cq)
`

// busyVariable names the adapter for a process of TestBusyQueues.
const busyVariable = "DEVICETEST_BUSY"

// busyFor is long for a command, as if its thread did not run.
const busyFor = 600 * time.Millisecond

// The published library gives up if a queue cannot be destroyed at once: it loses a queue pair, and fails to free an
// EVD. Other endpoints continue meanwhile.
func TestBusyQueues(t *testing.T) {
	if name := os.Getenv(busyVariable); name != "" {
		a := openAdapter(t, name)
		other := a.newEndpoint(t)
		r := a.newRacer(t, 1)
		ep := r.newEndpoint(t)
		start, freed := time.Now(), make(chan time.Duration)
		go func() {
			if ret := cgo.EPFree(ep); !ret.OK() {
				t.Errorf("EPFree returned %v", ret)
			}
			freed <- time.Since(start)
		}()
		var longest time.Duration
		for {
			start := time.Now()
			success(t, "EPReset", cgo.EPReset(other.EPHandle)) // takes the lock of connections
			longest = max(longest, time.Since(start))
			select {
			case all := <-freed:
				if all < busyFor {
					t.Errorf("an endpoint with a busy queue pair was freed in %v", all)
				}
				if longest > busyFor*9/10 {
					t.Errorf("another call took %v", longest)
				}
				return
			case <-time.After(time.Millisecond):
			}
		}
	}
	library := buildPreload(t, busyKernel, fmt.Sprintf("-DBUSY_MS=%d", busyFor.Milliseconds()))
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) { runWith(t, library, "^TestBusyQueues$", busyVariable+"="+name) })
	}
}

// busyOnce makes the kernel refuse once to free each zone and shared queue.
const busyOnce = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#define REFUSE(name)                                                           \
	int name(void *object);                                                \
	int name(void *object)                                                 \
	{                                                                      \
		static void *refused;                                          \
		int (*free)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, #name); \
                                                                               \
		if (object != refused) {                                       \
			refused = object;                                      \
			return errno = EBUSY;                                  \
		}                                                              \
		refused = NULL;                                                \
		return free(object);                                           \
	}

REFUSE(ibv_dealloc_pd)
REFUSE(ibv_destroy_srq)
`

// What the kernel has refused to free can be freed later.
func TestFreeAfterRefusal(t *testing.T) {
	if !isSlow(t, busyOnce) {
		return
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		pz, r := cgo.PZCreate(a.IAHandle)
		success(t, "PZCreate", r)
		srq, r := cgo.SRQCreate(a.IAHandle, pz, &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 2})
		success(t, "SRQCreate", r)
		wantRefused(t, "SRQFree", cgo.SRQFree(srq))
		success(t, "SRQFree", cgo.SRQFree(srq))
		wantRefused(t, "PZFree", cgo.PZFree(pz))
		success(t, "PZFree", cgo.PZFree(pz))
	})
}
