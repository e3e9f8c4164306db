//go:build linux && amd64

package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A report from two machines has all steps, and names neither machine.
func TestReport(t *testing.T) {
	needMachine(t)
	file := filepath.Join(t.TempDir(), "report.md")
	output, err := exec.Command("./report", "--testbed", "2", "--quick", "--out", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, want := range []string{
		"\n| conformance over CMA | of 98 clauses 4 shown, 0 not shown, 0 violated |",
		"\n| conformance over socket CM | of 98 clauses 4 shown, 0 not shown, 0 violated |",
		"\n| C beside Go over CMA, between the hosts | 14 measured, medians of 1 rounds |",
		"\n| C beside Go over socket CM | 14 measured, medians of 1 rounds |",
		"\n| connections under load over CMA | passed |",
		"\n| device | rxe0, IB | rxe0, IB |\n",
		"\n| MaxRMRTargetAddress | 18446744073709551615 | 18446744073709551615 |\n",
		"\n| G-01 | The status has the state ",
		"\n| pingpong | messages, RDMA write and read, graceful disconnect | Go | Go | passed | passed |\n",
		"\n| dtest | sends, RDMA writes and reads | Go | Go | passed | passed |\n",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the report does not have %q", want)
		}
	}
	for _, pattern := range []string{`\n\| programs in C and in Go, between the hosts \| (\d+) of \d+ pairs passed`, `\n\| programs in C and in Go \| (\d+) of \d+ pairs passed`} {
		if !regexp.MustCompile(pattern).Match(page) {
			t.Errorf("the report does not have %q", pattern)
		}
	}
	if found := regexp.MustCompile(`10\.77\.|testbed\d|0aff|What went wrong`).FindAll(page, -1); len(found) > 0 {
		t.Errorf("the report has %q", found)
	}
	if t.Failed() {
		t.Logf("%s\n%s", output, page)
	}
}

func TestReportRefusesArguments(t *testing.T) {
	for _, arguments := range [][]string{{"--device"}, {"--no-such-option"}, {"word"}, {"--testbed", "3"}} {
		output, err := exec.Command("./report", arguments...).CombinedOutput()
		if err == nil || !strings.HasPrefix(string(output), "report: ") || !strings.Contains(string(output), "Usage: scripts/report") {
			t.Errorf("%v: %v\n%s", arguments, err, output)
		}
	}
}

// Without a device it says so before it builds anything, and says how to try it.
func TestReportWithoutDevice(t *testing.T) {
	needMachine(t)
	output, err := exec.Command("./report", "--out", filepath.Join(t.TempDir(), "report.md")).CombinedOutput()
	if err == nil || !strings.HasPrefix(string(output), "report: there is no RDMA device") || !strings.Contains(string(output), "--testbed 1") {
		t.Errorf("%v\n%s", err, output)
	}
}
