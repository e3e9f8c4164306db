package main

import (
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	const (
		start  = `{"Action":"start","Package":"p"}` + "\n"
		pass   = `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n"
		skip   = `{"Action":"output","Package":"p","Test":"TestB","Output":"    a_test.go:3: no luck\n"}` + "\n" + `{"Action":"skip","Package":"p","Test":"TestB"}` + "\n"
		fail   = `{"Action":"output","Package":"p","Test":"TestC","Output":"    a_test.go:4: wrong\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestC"}` + "\n"
		passed = `{"Action":"pass","Package":"p"}` + "\n"
		failed = `{"Action":"fail","Package":"p"}` + "\n"
	)
	tests := []struct {
		name, input, last string
		success           bool
		shows             []string
	}{
		{"success", "run x\n" + start + pass + passed + "exit 0\n", "test: 1 passed, 0 failed, 0 skipped", true, nil},
		{"two runs", "run x\n" + start + pass + passed + "exit 0\nrun y\n" + start + pass + passed + "exit 0\n",
			"test: 2 passed, 0 failed, 0 skipped", true, nil},
		{"failure", "run x\n" + start + pass + fail + failed + "exit 1\n", "test: 1 passed, 1 failed, 0 skipped", false,
			[]string{"a_test.go:4: wrong", "failed: p TestC", "test:   failed: p TestC\ntest:     a_test.go:4: wrong\ntest: 1 passed"}},
		{"skip", "run x\n" + start + pass + skip + passed + "exit 0\n", "test: 1 passed, 0 failed, 1 skipped", true,
			[]string{"skipped: p TestB: no luck"}},
		{"skip on the device", "run-noskip x\n" + start + skip + passed + "exit 0\n",
			"test: 0 passed, 0 failed, 1 skipped", false, []string{"skipped, which is a failure here: p TestB: no luck"}},
		{"crash", "run x\n" + start + pass + `{"Action":"output","Package":"p","Output":"panic: oh\n"}` + "\n" + failed + "exit 1\n",
			"test: 1 passed, 1 failed, 0 skipped", false, []string{"panic: oh"}},
		{"crash within a test", "run x\n" + start + `{"Action":"run","Package":"p","Test":"TestD"}` + "\n" +
			`{"Action":"output","Package":"p","Test":"TestD","Output":"SIGSEGV\n"}` + "\n" + failed + "exit 1\n",
			"test: 0 passed, 1 failed, 0 skipped", false, []string{"SIGSEGV"}},
		{"go test fails by itself", "run x\nno such package\nexit 1\n", "test: 0 passed, 1 failed, 0 skipped", false,
			[]string{"no such package"}},
		{"cut off in a package", "run x\n" + start + pass + "exit 137\n", "test: 1 passed, 1 failed, 0 skipped", false, nil},
		{"cut off", "run x\n" + start + pass + passed, "test: 1 passed, 1 failed, 0 skipped", false, nil},
		{"no tests", "run x\nexit 0\n", "test: 0 passed, 1 failed, 0 skipped", false, []string{"there was no test"}},
		{"a check", "check gofmt\nrun x\n" + start + pass + passed + "exit 0\n", "test: 1 passed, 0 failed, 0 skipped",
			false, []string{"gofmt complains"}},
		{"nothing", "", "test: 0 passed, 0 failed, 0 skipped", false, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			tally := &tally{out: &out}
			if err := tally.read(strings.NewReader(test.input)); err != nil {
				t.Fatal(err)
			}
			if got := tally.summary(); got != test.success {
				t.Errorf("success is %v, want %v", got, test.success)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if got := lines[len(lines)-1]; got != test.last {
				t.Errorf("the last line is %q, want %q", got, test.last)
			}
			for _, want := range test.shows {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output lacks %q", want)
				}
			}
			if t.Failed() {
				t.Logf("the output:\n%s", out.String())
			}
		})
	}
}
