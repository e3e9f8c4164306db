package udattest_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// leaveVariable makes TestLeaveAlive leave objects alive.
const leaveVariable = "UDATTEST_LEAVE_ALIVE"

func TestLeaveAlive(t *testing.T) {
	if os.Getenv(leaveVariable) == "" {
		return
	}
	ia, err := udat.Open(udattest.Names(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := udat.CreatePZ(ia); err != nil {
		t.Fatal(err)
	}
}

// A run whose tests leave objects alive fails, and lists them.
func TestMainFindsLeaks(t *testing.T) {
	udattest.Names(t)
	for leave, want := range map[string]string{
		"yes": "PASS\nudattest: the tests have left 2 objects alive:\n" +
			"\tinterface adapter (made at udattest_test.go)\n\tprotection zone (made at udattest_test.go)\n",
		"": "PASS\n",
	} {
		cmd := exec.CommandContext(udattest.Context(t), os.Args[0], "-test.run=^TestLeaveAlive$")
		cmd.Env = append(os.Environ(), leaveVariable+"="+leave)
		out, err := cmd.CombinedOutput()
		if failed := err != nil; failed != (leave != "") || failed && cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("the run ends with %v", err)
		}
		text := regexp.MustCompile(`:\d+\)`).ReplaceAllString(string(out), ")")
		if diff := cmp.Diff(want, text); diff != "" {
			t.Errorf("output (-want +got): %s", diff)
		}
	}
}

// What a run without a device has skipped is in its last line.
func TestMainSaysWhatIsSkipped(t *testing.T) {
	cmd := exec.CommandContext(udattest.Context(t), os.Args[0], "-test.run=^TestEcho$")
	cmd.Env = append(os.Environ(), "UDAT_TEST_IA=")
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if last := lines[len(lines)-1]; err != nil || !strings.Contains(last, "skipped tests: 1, since there is no RDMA device") || !strings.Contains(last, "-exec") {
		t.Errorf("%v: the run ends with %q", err, last)
	}
}

// The run of a test that leaves a goroutine which nothing can wake fails, and shows its stack.
func TestMainFindsGoroutines(t *testing.T) {
	if os.Getenv(leaveVariable) != "" {
		go func() { <-make(chan int) }()
		runtime.Gosched()
		return
	}
	if pprof.Lookup("goroutineleak") == nil {
		t.Log("not tested: this Go has no profile of leaked goroutines")
		return
	}
	cmd := exec.CommandContext(udattest.Context(t), os.Args[0], "-test.run=^TestMainFindsGoroutines$")
	cmd.Env = append(os.Environ(), leaveVariable+"=yes")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "TestMainFindsGoroutines.func1") {
		t.Errorf("%v: the run says\n%s", err, out)
	}
}

// fake is a test that records its failures.
type fake struct {
	testing.TB
	said     []string
	cleanups []func()
}

type fatal struct{}

func (f *fake) Helper()           {}
func (f *fake) Cleanup(do func()) { f.cleanups = append(f.cleanups, do) }
func (f *fake) Error(args ...any) { f.said = append(f.said, fmt.Sprint(args...)) }
func (f *fake) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}
func (f *fake) Fatal(args ...any) { f.Error(args...); panic(fatal{}) }
func (f *fake) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(fatal{})
}

// run runs a test and its cleanups, and returns the recorded failures.
func run(test func(t testing.TB)) []string {
	f := &fake{}
	guard := func(do func()) {
		defer func() {
			if p := recover(); p != nil && p != (fatal{}) {
				panic(p)
			}
		}()
		do()
	}
	guard(func() { test(f) })
	for _, do := range slices.Backward(f.cleanups) {
		guard(do)
	}
	return f.said
}

func wantSaid(t *testing.T, said []string, want ...string) {
	t.Helper()
	if len(said) != len(want) {
		t.Errorf("the test says %q, want %q", said, want)
		return
	}
	for i, w := range want {
		if !strings.Contains(said[i], w) {
			t.Errorf("the test says %q, want %q", said[i], w)
		}
	}
}

func TestCheckLeaks(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		var left []*udat.PZ
		wantSaid(t, run(func(t testing.TB) {
			udattest.CheckLeaks(t)
			for range 2 {
				pz, err := udat.CreatePZ(ia)
				if err != nil {
					t.Fatal(err)
				}
				left = append(left, pz)
			}
			udattest.Listen(t, ia) // is cleaned up
		}), "left alive: protection zone (made at udattest_test.go:", "left alive: protection zone")
		for _, pz := range left {
			if err := pz.Free(); err != nil {
				t.Error(err)
			}
		}
		wantSaid(t, run(func(t testing.TB) {
			udattest.CheckLeaks(t)
			udattest.Pair(t, ia, nil)
		}))
	})
}

// An adapter that a test leaves in use is still closed.
func TestOpenFindsLeaks(t *testing.T) {
	for _, name := range udattest.Names(t) {
		wantSaid(t, run(func(t testing.TB) {
			if _, err := udat.CreatePZ(udattest.Open(t, name)); err != nil {
				t.Fatal(err)
			}
		}), "protection zone (made at udattest_test.go:")
		wantSaid(t, run(func(t testing.TB) {
			if err := udattest.Open(t, name).Close(udat.CloseGraceful); err != nil {
				t.Fatal(err)
			}
		}))
	}
	wantSaid(t, run(func(t testing.TB) { udattest.Open(t, "no such adapter") }), "no such adapter, which cannot be opened: udat: dat_ia_open")
}

func TestExpectations(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		send := func(cookie uint64) {
			t.Helper()
			if err := passive.PostRecv([]udat.Segment{passive.Segment(t, 0, 8)}, cookie, 0); err != nil {
				t.Fatal(err)
			}
			if err := active.PostSend([]udat.Segment{active.Segment(t, 0, 8)}, cookie, 0); err != nil {
				t.Fatal(err)
			}
		}
		for i := range uint64(3) {
			send(i)
			if event := udattest.Completion(t, active.Request, i); event.Length != 8 {
				t.Errorf("got %+v", event)
			}
		}
		udattest.NoEvent(t, active.Request)
		wantSaid(t, run(func(t testing.TB) { udattest.NoEvent(t, passive.Recv) }), "got the event DAT_DTO_COMPLETION_EVENT, want none")
		wantSaid(t, run(func(t testing.TB) { udattest.Completion(t, passive.Recv, 7) }), "operation 1, DAT_DTO_RECEIVE, completed with DAT_DTO_SUCCESS; want operation 7")
		wantSaid(t, run(func(t testing.TB) { udattest.Expect(t, passive.Recv, udat.EventSoftware) }), "got the event DAT_DTO_COMPLETION_EVENT, want DAT_SOFTWARE_EVENT")
		patience := udattest.Patience
		udattest.Patience = time.Millisecond
		defer func() { udattest.Patience = patience }()
		wantSaid(t, run(func(t testing.TB) { udattest.Wait(t, passive.Recv) }), "waiting for an event: udat: dat_evd_wait: DAT_TIMEOUT_EXPIRED")
	})
}

// Endpoints of two adapters, and endpoints made otherwise than by default.
func TestOptions(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			one, other := udattest.Open(t, name), udattest.Open(t, name)
			active, passive := udattest.PairAcross(t, one, other, nil)
			if active.IA != one || passive.IA != other {
				t.Error("the endpoints are on the wrong adapters")
			}
			attr := udattest.DefaultAttr(t, one)
			attr.MaxRecvDTOs = 300
			const readOnly = udat.MemPrivLocalRead | udat.MemPrivRemoteRead
			e := udattest.Options{Attr: &attr, QueueLength: 1000, MemorySize: 100, Privileges: readOnly}.NewEndpoint(t, one)
			endpoint, err := e.EP.Query()
			if err != nil || endpoint.Attr != attr {
				t.Errorf("the endpoint has the parameters %+v, %v", endpoint, err)
			}
			memory, err := e.Memory.Query()
			if err != nil || memory.Length != 100 || memory.Privileges != readOnly {
				t.Errorf("the memory has the parameters %+v, %v", memory, err)
			}
			for _, evd := range []*udat.EVD{e.Recv, e.Request, e.Connect} {
				if param, err := evd.Query(); err != nil || param.QLen < 1000 {
					t.Errorf("an event dispatcher has the parameters %+v, %v", param, err)
				}
			}
		})
	}
}

func TestInTestbed(t *testing.T) {
	for value, want := range map[string]bool{"": false, "1": true} {
		t.Setenv("UDAT_TESTBED", value)
		if got := udattest.InTestbed(t); got != want {
			t.Errorf("with the variable %q it returned %v", value, got)
		}
	}
}
