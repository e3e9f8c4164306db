package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// childVariable makes the processes that a test starts behave as udatperf.
const childVariable = "UDATPERF_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	udattest.Patience = 2 * time.Minute // for whole runs of two processes on a busy machine
	udattest.Main(m)
}

// All operations are measured, against a server in Go and against the twin in C, and printed as Go prints benchmarks.
func TestMeasure(t *testing.T) {
	adapters := udattest.Names(t)
	t.Setenv(childVariable, "1")
	native := filepath.Join(t.TempDir(), "ctwin")
	const compile = `cd ../../../scripts/sidebyside && exec ${CC:-cc} $CGO_CFLAGS -std=gnu11 -Wall -Wextra -Werror -o "$1" cprogram/*.c ctwin/*.c $(pkg-config --cflags --libs goudat)`
	if out, err := exec.Command("sh", "-c", compile, "sh", native).CombinedOutput(); err != nil {
		t.Fatalf("the twin in C does not build: %v\n%s", err, out)
	}
	result := regexp.MustCompile(`^Benchmark[A-Z]\S+/ia=(\S+)/bytes=\d+ \t20\t[1-9]\d*\.\d\d ns/op(\t[1-9]\d* p90-ns/op\t[1-9]\d* p99-ns/op)?(\t\d+\.\d\d MB/s)?(\t\d+ cpu-ns/op)?$`)
	for _, adapter := range adapters {
		for language, server := range map[string]string{"Go": os.Args[0], "C": native} {
			for _, how := range []string{"poll", "wait"} {
				t.Run(adapter+"/server in "+language+"/"+how, func(t *testing.T) {
					s := settings{operations: operations, how: how, sizes: []int{1, 5000}, count: 20, window: 4, qual: udattest.ConnQual(), serverBy: []string{server}}
					var output strings.Builder
					if err := s.measure(adapter, &output); err != nil {
						t.Fatal(err)
					}
					lines := strings.Split(strings.TrimSpace(output.String()), "\n")
					if len(lines) != 2*len(s.sizes)*3+1 {
						t.Errorf("there are %d results", len(lines))
					}
					for _, line := range lines {
						if match := result.FindStringSubmatch(line); match == nil || match[1] != adapter {
							t.Errorf("this is no benchmark of Go's: %q", line)
						}
					}
				})
			}
		}
	}
}

// A client whose server dies ends, also if it looks at memory that the server would write.
func TestServerDies(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		for _, name := range []string{"roundtrip", "mailbox", "rate"} {
			n, err := openNode(adapter, udattest.ConnQual())
			if err != nil {
				t.Fatal(err)
			}
			server, err := openNode(adapter, n.qual)
			if err != nil {
				t.Fatal(err)
			}
			if err := server.listen(io.Discard); err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- server.meet() }()
			n.address = udattest.Address(t, n.ia)
			if err := errors.Join(n.meet(), <-served, server.ia.Close(udat.CloseAbrupt)); err != nil {
				t.Fatal(err)
			}
			o := newOrder(name, "poll", 8, 100, 10)
			if err = n.prepare(o); err == nil {
				_, err = n.measure(o)
			}
			if err == nil {
				t.Errorf("%s: %s succeeds without a server", adapter, name)
			}
			if err := n.ia.Close(udat.CloseAbrupt); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWrongUse(t *testing.T) {
	for args, want := range map[string]string{
		"-op jump": "-op must be", "-sizes 0": "-sizes", "-sizes 1048577": "-sizes", "-count 0": "-count", "-window 65": "-window", "-timeout 0s": "-timeout",
		"-how often": "-how", "-speed 3": "not defined", "-count 1 more": "more", "more": "ADAPTER QUALIFIER", "-server-by false -provider none": "the server said",
	} {
		cmd := exec.CommandContext(udattest.Context(t), os.Args[0], strings.Fields(args)...)
		cmd.Env = append(os.Environ(), childVariable+"=1")
		if output, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(output), want) {
			t.Errorf("%s: got %v and %s, want %s", args, err, output, want)
		}
	}
}
