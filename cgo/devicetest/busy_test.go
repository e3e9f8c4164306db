package devicetest

import (
	"os"
	"testing"

	"github.com/goudat/goudat/udat/udattest"
)

// busyKernel makes the kernel refuse to destroy each queue a few times, as it does
// while another thread has a command for the queue under way.
const busyKernel = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>

#define DESTROY(name)                                                         \
	int name(void *queue);                                                \
	int name(void *queue)                                                 \
	{                                                                     \
		static __thread int refusals;                                 \
		int (*destroy)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, #name); \
                                                                              \
		if (refusals++ < 3)                                           \
			return errno = EBUSY;                                 \
		refusals = 0;                                                 \
		return destroy(queue);                                        \
	}

DESTROY(ibv_destroy_qp)
DESTROY(ibv_destroy_cq)
`

// busyVariable names the adapter that a process of TestBusyQueues uses.
const busyVariable = "DEVICETEST_BUSY"

// The library as it was published gives up when a queue cannot be destroyed at
// once: it loses a queue pair, and fails to free an EVD.
func TestBusyQueues(t *testing.T) {
	if name := os.Getenv(busyVariable); name != "" {
		a := openAdapter(t, name)
		for range 3 {
			a.newEndpoint(t)
		}
		return
	}
	if !hasPatches(t) {
		return
	}
	library := buildPreload(t, busyKernel)
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) { runWith(t, library, "^TestBusyQueues$", busyVariable+"="+name) })
	}
}
