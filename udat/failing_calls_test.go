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

// Failures that no adapter produces on demand come from a C library that is loaded
// before the native one, in a child process that runs one test. See
// testdata/failing_calls.c.

// childPatience is far longer than one of the tests takes.
const childPatience = 4 * time.Minute

// failingCallsVariable names the file by which a test tells the C library what is
// to fail.
const failingCallsVariable = "UDAT_TEST_FAILING_CALLS"

// failingCall is a call of the native library, as in testdata/failing_calls.c.
type failingCall struct {
	fail   atomic.Int32
	code   atomic.Uint32
	failed atomic.Int32
}

// failingCalls are the calls that can fail, in the order of testdata/failing_calls.c.
type failingCalls struct {
	evdFree, epFree failingCall
}

// next has the next n calls fail with the code, and do nothing.
func (c *failingCall) next(n int32, code udat.Return) {
	c.code.Store(uint32(code))
	c.failed.Store(0)
	c.fail.Store(n)
}

// stop has no more calls fail. It returns how many have failed.
func (c *failingCall) stop() (failed int32) {
	c.fail.Store(0)
	return c.failed.Load()
}

// always is as often as a call can fail.
const always = math.MaxInt32

// withFailingCalls runs the test in a child process in which calls of the native
// library can be made to fail.
func withFailingCalls(t *testing.T, test func(t *testing.T, ia *udat.IA, calls *failingCalls)) {
	t.Helper()
	if name := os.Getenv(failingCallsVariable); name != "" {
		calls := mapFailingCalls(t, name)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) { test(t, udattest.Open(t, name), calls) })
		}
		return
	}
	udattest.Names(t)
	folder := t.TempDir()
	library, control := filepath.Join(folder, "failing_calls.so"), filepath.Join(folder, "control")
	gcc := exec.Command("gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", library, "testdata/failing_calls.c", "-ldl")
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	want(t, os.WriteFile(control, make([]byte, unsafe.Sizeof(failingCalls{})), 0o600))
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.skip", flag.Lookup("test.skip").Value.String(),
		fmt.Sprintf("-test.v=%v", testing.Verbose()), fmt.Sprintf("-test.timeout=%v", childPatience))
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, failingCallsVariable+"="+control,
		"ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:"+os.Getenv("ASAN_OPTIONS"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the child: %v\n%s", err, out)
	} else if testing.Verbose() {
		t.Logf("%s", out)
	}
}

func mapFailingCalls(t *testing.T, name string) *failingCalls {
	t.Helper()
	f := must(os.OpenFile(name, os.O_RDWR, 0))
	defer f.Close()
	memory := must(syscall.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof(failingCalls{})), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED))
	t.Cleanup(func() { want(t, syscall.Munmap(memory)) })
	return (*failingCalls)(unsafe.Pointer(&memory[0]))
}
