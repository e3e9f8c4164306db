package devicetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// refusingListen makes the system refuse listeners while a file exists.
const refusingListen = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int refuses(void)
{
	const char *file = getenv("DEVICETEST_REFUSE");

	return file != NULL && access(file, F_OK) == 0;
}

int listen(int fd, int backlog)
{
	int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");

	if (refuses()) {
		errno = ENOMEM;
		return -1;
	}
	return real(fd, backlog);
}

int rdma_listen(void *id, int backlog);
int rdma_listen(void *id, int backlog)
{
	int (*real)(void *, int) = (int (*)(void *, int))dlsym(RTLD_NEXT, "rdma_listen");

	if (refuses()) {
		errno = ENOMEM;
		return -1;
	}
	return real(id, backlog);
}
`

// The search for a free qualifier ends with the first error that another qualifier does not cure.
func TestPSPCreateAnyFails(t *testing.T) {
	file := os.Getenv(refuseVariable)
	if file == "" {
		library := buildPreload(t, refusingListen)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "refuse")
				runWith(t, library, "^TestPSPCreateAnyFails$", refuseVariable+"="+file, "UDAT_TEST_IA="+name)
			})
		}
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		requests := a.newQueue(t, cgo.EVDCR)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, r := cgo.PSPCreateAny(a.IAHandle, requests.EVDHandle, cgo.PSPConsumer); r.OK() || r.Type() == cgo.ConnQualUnavailable {
			t.Errorf("PSPCreateAny returned %v without a listener", r)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		a.connectedPair(t)
	})
}
