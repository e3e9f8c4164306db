//go:build linux

package udat_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// failingCalls are how many of the next calls of the native library fail with an internal error, as
// no adapter lets them on demand: testdata/failing_calls.c, which is loaded before the native
// library, shares them.
type failingCalls struct{ evdFree, epFree, pspFree atomic.Int32 }

// failingCallsVariable names the file that they are in.
const failingCallsVariable = "UDAT_TEST_FAILING_CALLS"

// withFailingCalls runs the test in a child process in which calls of the native library can be
// made to fail.
func withFailingCalls(t *testing.T, test func(t *testing.T, ia *udat.IA, calls *failingCalls)) {
	t.Helper()
	const size = int(unsafe.Sizeof(failingCalls{}))
	if name := os.Getenv(failingCallsVariable); name != "" {
		f := must(os.OpenFile(name, os.O_RDWR, 0))
		defer f.Close()
		memory := must(syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED))
		t.Cleanup(func() { want(t, syscall.Munmap(memory)) })
		udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) { test(t, ia, (*failingCalls)(unsafe.Pointer(&memory[0]))) })
		return
	}
	udattest.Names(t)
	folder := t.TempDir()
	library, shared := filepath.Join(folder, "failing_calls.so"), filepath.Join(folder, "shared")
	gcc := exec.Command("gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", library, "testdata/failing_calls.c", "-ldl")
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	want(t, os.WriteFile(shared, make([]byte, size), 0o600))
	const patience = 4 * time.Minute // far longer than one of the tests takes
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.skip", flag.Lookup("test.skip").Value.String(),
		fmt.Sprintf("-test.v=%v", testing.Verbose()), fmt.Sprintf("-test.timeout=%v", patience))
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, failingCallsVariable+"="+shared,
		"ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:"+os.Getenv("ASAN_OPTIONS"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the child: %v\n%s", err, out)
	} else if testing.Verbose() {
		t.Logf("%s", out)
	}
}

// An endpoint that the library fails to free works as before, and an adapter with it cannot be
// closed until it can be freed.
func TestEPThatCannotBeFreed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, first *udat.IA, calls *failingCalls) {
		ia := must(udat.Open(first.Name()))
		a, b := udattest.Pair(t, ia, nil)
		calls.epFree.Store(math.MaxInt32)
		want(t, a.EP.Free(), udat.ErrInternalError)
		want(t, a.PostRecv(one(a.Segment(t, 0, 8)), 1, 0))
		want(t, b.PostSend(one(b.Segment(t, 0, 8)), 2, 0))
		if event := udattest.Completion(t, a.Recv, 1); event.EP() != a.EP {
			t.Error("the receive names another endpoint")
		}
		want(t, ia.Close(udat.CloseAbrupt), udat.ErrInvalidState, udat.InvalidStateIAInUse)
		calls.epFree.Store(0)
		want(t, ia.Close(udat.CloseAbrupt))
		want(t, a.EP.Free(), udat.ErrClosed)
	})
}

// An EVD that the library does not free lives on.
func TestEVDThatCannotBeFreed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		calls.evdFree.Store(1)
		want(t, evd.Free(), udat.ErrInternalError)
		want(t, evd.PostSE(1))
		udattest.Expect(t, evd, udat.EventSoftware)
		want(t, evd.Free())
	})
}

// A service point that the library does not free takes requests as before.
func TestPSPThatCannotBeFreed(t *testing.T) {
	withFailingCalls(t, func(t *testing.T, ia *udat.IA, calls *failingCalls) {
		listener := udattest.Listen(t, ia)
		calls.pspFree.Store(1)
		want(t, listener.PSP.Free(), udat.ErrInternalError)
		udattest.ConnectPair(t, listener, udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil))
	})
}
