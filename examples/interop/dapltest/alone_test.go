package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/goudat/goudat/examples/interop/internal/pairing"
	"github.com/goudat/goudat/udat/udattest"
)

// runAlone runs a program that needs no peer, and returns its output.
func runAlone(t *testing.T, program *pairing.Program, provider, flags string) (string, error) {
	t.Helper()
	words := strings.Fields(flags)
	process := program.Start(t, append([]string{words[0], words[1], "-D", provider}, words[2:]...))
	err := process.Wait()
	return process.Text(), err
}

// The size of a region is left out: that test takes all memory.
func TestLimits(t *testing.T) {
	want := []string{
		"IAs opened: 6", "PZs created: 6", "CNOs created: 6", "EVDs created: 6", "EPs created: 6", "RSPs created: 6", "PSPs created: 6",
		"LMRs created: 6", "recv buffers posted per EP: 6",
	}
	const flags = "-T L -m 6 -w 2 limit_ia limit_pz limit_cno limit_evd limit_ep limit_rsp limit_psp limit_lmr limit_rpost"
	for _, provider := range udattest.Names(t) {
		text, err := runAlone(t, own(t), provider, flags)
		if err != nil {
			t.Errorf("%s: it ended with %v", provider, err)
		}
		var got []string
		for _, match := range regexp.MustCompile(`(?m)^LimitTest: (.*)$`).FindAllStringSubmatch(text, -1) {
			got = append(got, match[1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", provider, diff, text)
		}
	}
}

// Reaching a limit ends the test, and does not fail it.
func TestLimitReached(t *testing.T) {
	for _, provider := range udattest.Names(t) {
		text, err := runAlone(t, own(t), provider, "-T L limit_rpost")
		for _, want := range []string{" fails: ", "recv buffers posted per EP: 16\n"} {
			if err != nil || !strings.Contains(text, want) {
				t.Errorf("%s ended with %v, want %q in\n%s", provider, err, want, text)
			}
		}
	}
}

const (
	passes      = "PASS"
	isMissing   = "UNSUPP"
	crashes     = "crash"
	wrongPasses = "FAIL, and says PASS"
)

// differences are the cases in which the C program behaves differently.
var differences = map[string]struct{ own, native string }{
	"mem case2":        {passes, wrongPasses},
	"queryinfo case5":  {passes, isMissing},
	"queryinfo case9":  {isMissing, wrongPasses},
	"queryinfo case10": {isMissing, passes},
	"queryinfo case12": {isMissing, passes},
	"queryinfo case13": {passes, crashes},
	"queryinfo case14": {isMissing, passes},
	"queryinfo case15": {passes, crashes},
	"queryinfo case16": {isMissing, passes},
}

// hasWindows reports whether the device of an adapter has memory windows, which remote memory regions are.
func hasWindows(t *testing.T, provider string) bool {
	t.Helper()
	attr, _, err := udattest.Open(t, provider).Query()
	if err != nil {
		t.Fatal(err)
	}
	return attr.MaxRMRs > 0
}

func TestFeatures(t *testing.T) {
	native := native(t)
	for _, provider := range udattest.Names(t) {
		t.Run(provider, func(t *testing.T) {
			for name, f := range features {
				text, err := runAlone(t, own(t), provider, "-T F -f "+name)
				if err != nil {
					t.Errorf("%s: it ended with %v\n%s", name, err, text)
				}
				results := resultsOf(text)
				for i := range f.cases {
					which := fmt.Sprintf("%s case%d", name, i)
					want, differs := differences[which]
					if which == "queryinfo case9" && hasWindows(t, provider) {
						differs = false
					}
					if !differs {
						want.own, want.native = passes, passes
					}
					if got := results[i]; got != want.own {
						t.Errorf("%s: %q, want %q in\n%s", which, got, want.own, text)
					}
					// Cases that the C program passes, it passes here, too. The others show where the two programs
					// differ.
					if native != nil && differs {
						checkNative(t, native, provider, which, i, want.native)
					}
				}
			}
		})
	}
}

func checkNative(t *testing.T, native *pairing.Program, provider, which string, i int, want string) {
	t.Helper()
	text, err := runAlone(t, native, provider, "-T F -f "+which)
	got := resultsOf(text)[i]
	if exit := (*exec.ExitError)(nil); err != nil && errors.As(err, &exit) {
		got = crashes
	}
	if got != want {
		t.Errorf("%s of the C program: %q, %v, want %q in\n%s", which, got, err, want, text)
	}
}

var resultLine = regexp.MustCompile(`(?s)case: (\d+)\n(.*?)Result: (\w+)`)

// resultsOf are the results of cases.
func resultsOf(text string) map[int]string {
	results := map[int]string{}
	for _, match := range resultLine.FindAllStringSubmatch(text, -1) {
		var i int
		fmt.Sscan(match[1], &i)
		results[i] = match[3]
		if strings.Contains(match[2], " failed in file ") {
			results[i] = wrongPasses
		}
	}
	return results
}
