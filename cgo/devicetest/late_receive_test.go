package devicetest

import (
	"os"
	"path/filepath"
	"testing"

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
	file := os.Getenv(goOnVariable)
	if file == "" {
		if !hasPatches(t) {
			return
		}
		library := buildPreload(t, slowEnd)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "go on")
				runWith(t, library, "^TestRecvDuringDisconnect$", goOnVariable+"="+file, "UDAT_TEST_IA="+name)
			})
		}
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
