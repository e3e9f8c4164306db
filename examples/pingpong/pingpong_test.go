package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/goudat/goudat/udat/udattest"
)

// childVariable makes the processes that runBoth starts in a test behave as pingpong.
const childVariable = "PINGPONG_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	udattest.Patience = 2 * time.Minute // for whole runs of several processes on a busy machine
	udattest.Main(m)
}

func TestBothProcesses(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		for mode, graceful := range map[string]bool{"graceful": true, "abrupt": false} {
			t.Run(provider+"/"+mode, func(t *testing.T) {
				t.Setenv(childVariable, "1")
				s := settings{provider: provider, qual: udattest.ConnQual(), sizes: []int{0, 1, 5000}, count: 3, graceful: graceful, timeout: udattest.Patience}
				if err := runBoth(udattest.Context(t), s); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A client without a server fails, and says so.
func TestNoServer(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		s := settings{provider: provider, qual: udattest.ConnQual(), sizes: []int{1}, count: 1, timeout: udattest.Patience}
		address, err := ownAddress(provider)
		if err != nil {
			t.Fatal(err)
		}
		err = dial(udattest.Context(t), s, address)
		for _, text := range []string{"start the server first", "DAT_CONNECTION_EVENT_NON_PEER_REJECTED"} {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v, want it to say %s", err, text)
			}
		}
	}
}

// An invalid value is a usage error, like an unknown flag.
func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"-count", "0"}, {"-sizes", "x"}, {"-disconnect", "soon"}, {"-timeout", "0"}, {"-timeout", "-1s", "-connect", "x"}, {"-server", "-connect", "x"}, {"word"}, {"-none"}} {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), childVariable+"=1")
		output, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%q: %v, want exit code 2; output: %s", args, err, output)
		}
	}
}

func TestMessageCheck(t *testing.T) {
	m := message{number: 3, size: 300, from: fromServer}
	b := make([]byte, m.size)
	m.write(b)
	if err := m.check(b); err != nil {
		t.Error(err)
	}
	for _, i := range []int{0, 150, 299} {
		b[i]++
		if m.check(b) == nil {
			t.Errorf("a change of byte %d goes unnoticed", i)
		}
		b[i]--
	}
	for _, other := range []message{{4, 300, fromServer}, {3, 300, fromClient}, {3, 299, fromServer}, {3, 300, written}} {
		if other.check(b) == nil {
			t.Errorf("message %v passes for %v", m, other)
		}
	}
}

func TestGreeting(t *testing.T) {
	s := settings{sizes: []int{0, 70000, maxSize}, count: 12345, graceful: true}
	b := append(s.greeting(), make([]byte, 20)...) // padded, as by a provider
	got, err := settings{}.greeted(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, got, cmp.AllowUnexported(settings{})); diff != "" {
		t.Errorf("the greeting arrives changed (-want +got):\n%s", diff)
	}
	for n := range len(s.greeting()) {
		if _, err := (settings{}).greeted(b[:n]); err == nil {
			t.Errorf("a greeting of %d bytes is accepted", n)
		}
	}
	b[0]++
	if _, err := (settings{}).greeted(b); err == nil {
		t.Error("a greeting of somebody else is accepted")
	}
}

func TestPercentile(t *testing.T) {
	var d []time.Duration
	for i := 100; i > 0; i-- {
		d = append(d, time.Duration(i)*time.Millisecond)
	}
	if p := percentile(d, 50); p != 50*time.Millisecond {
		t.Errorf("p50 is %v", p)
	}
	if p := percentile(d, 99); p != 99*time.Millisecond {
		t.Errorf("p99 is %v", p)
	}
	if p := percentile(d[:1], 99); p != 100*time.Millisecond {
		t.Errorf("p99 of one is %v", p)
	}
}
