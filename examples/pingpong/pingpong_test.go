package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat/udattest"
)

// childVariable makes the processes that a test starts behave as pingpong.
const childVariable = "PINGPONG_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	udattest.Main(m)
}

// Runs end with their exit codes, and say what they have done, or why they did not.
func TestRuns(t *testing.T) {
	t.Setenv(childVariable, "1")
	type run struct {
		args string
		code int
		says string
	}
	runs := []run{{"-count 0", 2, "-count"}, {"-sizes x", 2, "-sizes"}, {"-disconnect soon", 2, "-disconnect"}, {"-timeout -1s", 2, "-timeout"},
		{"-server -connect x", 2, "exclude"}, {"word", 2, "word"}, {"-none", 2, "-none"}, {"-provider none -server", 1, "none"}}
	for _, provider := range udattest.Names(t) {
		address := udattest.Address(t, udattest.Open(t, provider)).String()
		use := "-provider " + provider + " "
		runs = append(runs, run{use + "-count 3 -verbose", 0, "every byte was right"}, run{use + "-connect " + address + " -qual 7470", 1, "start the server first"},
			run{use + "-count 1000000 -timeout 2s", 1, "took longer than -timeout"}, run{use + "-sizes 100000,100001,100002,100003,100004,100005,100006", 1, "private data"})
	}
	for _, r := range runs {
		t.Run(r.args, func(t *testing.T) {
			cmd := exec.CommandContext(udattest.Context(t), os.Args[0], strings.Fields(r.args)...)
			output, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != r.code || !strings.Contains(string(output), r.says) {
				t.Errorf("%v, want the code %d and %q in:\n%s", err, r.code, r.says, output)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	b := make([]byte, 300)
	fill(b, 3)
	if verify(b, 300, 3) != nil || verify(b, 300, 4) == nil || verify(b, 299, 3) == nil {
		t.Fatal("the contents pass for others")
	}
	for _, i := range []int{0, 150, 299} {
		b[i]++
		if verify(b, 300, 3) == nil {
			t.Errorf("a change of byte %d goes unnoticed", i)
		}
		b[i]--
	}
}
