package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var sample = report{
	Command: "scripts/bench --page",
	Machine: machine{Host: "a host", Processor: "a processor", CPUs: 2, Kernel: "Linux 6", Load: "0.1", Stack: "a stack", Compiler: "gcc 1", Go: "go1"},
	Rounds:  3,
	Results: []result{
		{Adapter: "one", Measurement: "round trip, 8 B, polling", Unit: "µs", LowerIsBetter: true, Goal: 1.05, C: []float64{10, 11, 10}, Go: []float64{10, 11, 10}},
		{Adapter: "one", Measurement: "round trip, 8 B, waiting", Unit: "µs", LowerIsBetter: true, Goal: 1.15, C: []float64{10, 10, 10}, Go: []float64{20, 20, 20}},
		{Adapter: "two", Measurement: "get_status", Unit: "ns", LowerIsBetter: true, C: []float64{5}, Go: []float64{50}},
	},
	References: []reference{{What: "verbs", Tool: "ib_send_lat", Unit: "µs", Values: []float64{4}}, {What: "more", Tool: "dtest", Missing: "there is none"}},
}

// pageOf writes a report to a file, makes the page from it, and returns the page's text.
func pageOf(t *testing.T, r report, page string, makePage func(file, page string) error) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "r.json")
	if err := r.write(file); err != nil {
		t.Fatal(err)
	}
	if err := makePage(file, page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPage(t *testing.T) {
	text := pageOf(t, sample, filepath.Join(t.TempDir(), "page.md"), makePage)
	for _, want := range []string{
		"    scripts/bench --page\n", "| Machine | a host, load 0.1 at the start |", "a processor, 2 of them", "| Native stack | a stack |",
		"## one\n", "## two\n", "| round trip, 8 B, polling | 10.0 (10.0 to 10.5) | 10.0 (10.0 to 10.5) | µs | **1.000** (1.000 to 1.000) | at most 1.05 | met |",
		"* round trip, 8 B, waiting, one: 2.000, goal at most 1.15: missed by 85.0 %.", "**Waiting**:",
		"| verbs | 4.00 (4.00 to 4.00) | µs | `ib_send_lat` |", "| more | not measured: there is none |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "**Polling**:") {
		t.Error("the page explains a goal that was met")
	}
}

func TestReportKeepsItsNumbers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	if err := sample.write(file); err != nil {
		t.Fatal(err)
	}
	got, err := readReport(file)
	if err != nil || !cmp.Equal(got, sample) {
		t.Errorf("%v\n%s", err, cmp.Diff(sample, got))
	}
}

func TestPageOfNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	if err := (report{}).write(file); err != nil {
		t.Fatal(err)
	}
	if makePage(file, filepath.Join(t.TempDir(), "page.md")) == nil {
		t.Error("a page was made of no results")
	}
}

func withProcessor(r report, processor string) report {
	r.Machine.Processor = processor
	return r
}

// No page has figures of an emulated processor.
func TestPageOfEmulation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	if err := withProcessor(sample, "QEMU TCG CPU version 2.5+").write(file); err != nil {
		t.Fatal(err)
	}
	if err := makePage(file, filepath.Join(t.TempDir(), "page.md")); err != errEmulated {
		t.Errorf("the error is %v", err)
	}
}

// A measurement that sleeps has no goal where it is not reliable. One that polls has none under an emulator.
func TestGoalsOnMachines(t *testing.T) {
	for _, c := range []struct {
		processor        string
		polling, waiting bool
	}{{"Chip 1", true, true}, {"Chip 1 (User-Mode Linux)", true, false}, {"QEMU TCG CPU version 2.5+", false, true}} {
		for _, m := range measurements(1) {
			has := m.goalOn(machine{Processor: c.processor}) != 0
			switch {
			case strings.HasSuffix(m.name, "B, polling") && has != c.polling:
				t.Errorf("%s on %s: a goal is %v", m.name, c.processor, has)
			case strings.HasPrefix(m.name, "round trip") && strings.HasSuffix(m.name, "waiting") && has != c.waiting:
				t.Errorf("%s on %s: a goal is %v", m.name, c.processor, has)
			}
		}
	}
}
