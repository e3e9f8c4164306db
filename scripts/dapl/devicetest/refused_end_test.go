package devicetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// refusingEnd refuses to move queue pairs to the error state while a file exists. It may remove the file itself.
const refusingEnd = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { state = 1, error = 6 };

int ibv_modify_qp(void *qp, const int *attr, int mask) /* attr begins with the state */
{
	int (*real)(void *, const int *, int) = (int (*)(void *, const int *, int))dlsym(RTLD_NEXT, "ibv_modify_qp");
	const char *file = getenv("DEVICETEST_FAIL");

	if ((mask & state) && *attr == error && file != NULL && access(file, F_OK) == 0) {
		if (getenv("DEVICETEST_ONCE") != NULL)
			unlink(file);
		errno = EBUSY;
		return EBUSY;
	}
	return real(qp, attr, mask);
}
`

// onceVariable has the first refusal be the last.
const onceVariable = "DEVICETEST_ONCE"

// A disconnect ends although a queue pair cannot be moved to the error state, and each receive completes once.
func TestDisconnectWithoutErrorState(t *testing.T) {
	file := os.Getenv(failVariable)
	if file == "" {
		library := buildPreload(t, refusingEnd)
		for _, name := range udattest.Names(t) {
			for refusals, environment := range map[string][]string{"once": {onceVariable + "=1"}, "always": nil} {
				t.Run(name+"/"+refusals, func(t *testing.T) {
					file := filepath.Join(t.TempDir(), "fail")
					environment := append(environment, failVariable+"="+file, "UDAT_TEST_IA="+name)
					runWith(t, library, "^TestDisconnectWithoutErrorState$", environment...)
				})
			}
		}
		return
	}
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		refuse := func(t *testing.T) {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(file) }) // once refused, it has gone
		}
		const receives = 4
		for _, flags := range []cgo.CloseFlags{cgo.CloseGraceful, cgo.CloseAbrupt} {
			t.Run(map[cgo.CloseFlags]string{cgo.CloseGraceful: "graceful", cgo.CloseAbrupt: "abrupt"}[flags], func(t *testing.T) {
				active, passive := a.connectedPair(t)
				for cookie := range uint64(receives) {
					active.postRecv(t, cookie)
				}
				refuse(t)
				success(t, "EPDisconnect", cgo.EPDisconnect(active.EPHandle, flags))
				active.connect.expect(t, cgo.EventConnectionDisconnected)
				active.wantState(t, cgo.EPStateDisconnected)
				for cookie := range uint64(receives) {
					active.recv.expectFlushed(t, cookie)
				}
				success(t, "EPReset", cgo.EPReset(active.EPHandle))
				active.recv.empty(t)
				active.connect.empty(t)
				if os.Getenv(onceVariable) != "" {
					passive.connect.expect(t, cgo.EventConnectionDisconnected)
				}
			})
		}
		t.Run("free", func(t *testing.T) {
			e := a.newEndpoint(t)
			ep, r := cgo.EPCreate(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, endpointAttr())
			success(t, "EPCreate", r)
			for cookie := range uint64(receives) {
				r := cgo.EPPostRecv(ep, []cgo.LMRTriplet{e.memory.local(0, 64)}, cookie, cgo.CompletionDefault)
				success(t, "EPPostRecv", r)
			}
			refuse(t)
			success(t, "EPFree", cgo.EPFree(ep))
			e.recv.empty(t) // the completions went with the endpoint
		})
	})
}
