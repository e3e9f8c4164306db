package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// fails is the stream of a test that fails and prints some lines.
func fails(lines ...string) string {
	var stream strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&stream, "%s\n", fmt.Sprintf(`{"Action":"output","Package":"p","Test":"TestE","Output":%q}`, line+"\n"))
	}
	return stream.String() + `{"Action":"fail","Package":"p","Test":"TestE"}` + "\n"
}

func TestTally(t *testing.T) {
	const (
		pass   = `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n"
		skip   = `{"Action":"output","Package":"p","Test":"TestB","Output":"    a_test.go:3: no luck\n"}` + "\n" + `{"Action":"skip","Package":"p","Test":"TestB"}` + "\n"
		fail   = `{"Action":"output","Package":"p","Test":"TestC","Output":"    a_test.go:4: wrong\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestC"}` + "\n"
		passed = `{"Action":"pass","Package":"p"}` + "\n"
		failed = `{"Action":"fail","Package":"p"}` + "\n"
	)
	exit := errors.New("exit status 1")
	type binary struct {
		input   string
		noSkips bool
		err     error
	}
	tests := []struct {
		name     string
		check    string
		binaries []binary
		last     string
		success  bool
		shows    []string
	}{
		{"success", "", []binary{{pass + passed, false, nil}}, "1 passed, 0 failed, 0 skipped", true, nil},
		{"two binaries", "", []binary{{pass + passed, false, nil}, {pass + passed, true, nil}}, "2 passed, 0 failed, 0 skipped", true, nil},
		{"failure", "", []binary{{pass + fail + failed, false, exit}}, "1 passed, 1 failed, 0 skipped", false,
			[]string{"a_test.go:4: wrong", "failed: p0 TestC", "test:   failed: p0 TestC (title)\ntest:     a_test.go:4: wrong\n"}},
		{"failure of several lines", "", []binary{{fails("    a_test.go:4: wrong", "        as rank 2 says", "    --- FAIL: TestE/a") + failed, false, exit}}, "0 passed, 1 failed, 0 skipped", false,
			[]string{"test:     a_test.go:4: wrong\ntest:       as rank 2 says\ntest: the tests took"}},
		{"skip", "", []binary{{pass + skip + passed, false, nil}}, "1 passed, 0 failed, 1 skipped", true,
			[]string{"skipped: p0 TestB: no luck"}},
		{"skip on the device", "", []binary{{skip + passed, true, nil}}, "0 passed, 0 failed, 1 skipped", false,
			[]string{"skipped, which is a failure here: p0 TestB: no luck"}},
		{"crash", "", []binary{{pass + `{"Action":"output","Package":"p","Output":"panic: oh\n"}` + "\n" + failed, false, exit}},
			"1 passed, 1 failed, 0 skipped", false, []string{"panic: oh"}},
		{"crash within a test", "", []binary{{`{"Action":"run","Package":"p","Test":"TestD"}` + "\n" +
			`{"Action":"output","Package":"p","Test":"TestD","Output":"SIGSEGV\n"}` + "\n" + failed, false, exit}},
			"0 passed, 1 failed, 0 skipped", false, []string{"SIGSEGV"}},
		{"no binary", "", []binary{{"no such file\n", false, exit}}, "0 passed, 1 failed, 0 skipped", false, []string{"no such file"}},
		{"cut off", "", []binary{{pass, false, errors.New("signal: killed")}}, "1 passed, 1 failed, 0 skipped", false, []string{"signal: killed"}},
		{"no tests", "", []binary{{passed, false, nil}}, "0 passed, 1 failed, 0 skipped", false, []string{"there was no test"}},
		{"a check", "badly formatted.go\ncomplaints by gofmt\n", []binary{{pass + passed, false, nil}}, "1 passed, 0 failed, 0 skipped", false,
			[]string{"badly formatted.go\n", "scripts/check: exit status 1: complaints by gofmt", "test:   scripts/check: exit"}},
		{"nothing", "", nil, "0 passed, 0 failed, 0 skipped", false, []string{"nothing was run"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			tally := &tally{out: &out}
			if test.check != "" {
				tally.checked("scripts/check", test.check, exit, 0, 0)
			}
			for i, b := range test.binaries {
				o := tally.begin("p"+string(rune('0'+i)), "title", b.noSkips)
				o.read(bufio.NewReader(strings.NewReader(b.input)))
				o.end(b.err, 0)
			}
			if got := tally.summary(0); got != test.success {
				t.Errorf("success is %v, want %v", got, test.success)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if got := lines[len(lines)-1]; got != "test: "+test.last {
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

// Binaries that run side by side have separate outcomes.
func TestTallySideBySide(t *testing.T) {
	var out strings.Builder
	tally := &tally{out: &out}
	a, b := tally.begin("a", "title", false), tally.begin("b", "title", false)
	a.line(`{"Action":"output","Test":"TestX","Output":"from a\n"}`)
	b.line(`{"Action":"output","Test":"TestX","Output":"from b\n"}`)
	b.line(`{"Action":"fail","Test":"TestX"}`)
	tally.pulse(time.Now().Add(time.Hour))
	a.line(`{"Action":"pass","Test":"TestX"}`)
	a.end(nil, 0)
	b.end(errors.New("exit status 1"), 0)
	if tally.summary(0) || tally.total != (counts{passed: 1, failures: 1}) {
		t.Errorf("the counts are %v", tally.total)
	}
	if text := out.String(); strings.Contains(text, "from a") || !strings.Contains(text, "from b") || !strings.Contains(text, "... a begins") {
		t.Errorf("the output is:\n%s", text)
	}
}

// The slowest tests are listed, the longest first.
func TestSlowest(t *testing.T) {
	var out strings.Builder
	tally := &tally{out: &out}
	o := tally.begin("p", "title", false)
	for i := range slowest + 1 {
		name := "Test" + string(rune('A'+i))
		o.line(`{"Action":"run","Test":"` + name + `"}`)
		o.line(`{"Action":"pass","Test":"` + name + `","Elapsed":` + string(rune('0'+i%10)) + `.5}`)
	}
	o.end(nil, 0)
	tally.summary(0)
	if text := out.String(); !strings.Contains(text, "the slowest tests:\ntest:      9.5s p TestJ (title)\n") || strings.Count(text, "s p Test") != slowest {
		t.Errorf("the output is:\n%s", text)
	}
}

// A package without tests is no failure. An unknown package is one.
func TestNoTests(t *testing.T) {
	for _, packages := range [][]string{nil, {"examples/hello"}} {
		var out strings.Builder
		tally := &tally{out: &out}
		if packages != nil {
			tally.noTests(packages)
		}
		if success := tally.summary(0); success != (packages != nil) {
			t.Errorf("%q: success is %v", packages, success)
		}
		if packages != nil && !strings.Contains(out.String(), "there are no tests in examples/hello") {
			t.Errorf("the output is:\n%s", out.String())
		}
	}
}
