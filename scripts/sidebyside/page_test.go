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

func TestPage(t *testing.T) {
	file, page := filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(), "page.md")
	if err := sample.write(file); err != nil {
		t.Fatal(err)
	}
	if err := makePage(file, page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"    scripts/bench --page\n", "| Machine | a host, load 0.1 at the start |", "a processor, 2 of them", "| Native stack | a stack |",
		"## one\n", "## two\n", "| round trip, 8 B, polling | 10.0 (10.0 to 10.5) | 10.0 (10.0 to 10.5) | µs | **1.000** (1.000 to 1.000) | at most 1.05 | met |",
		"* round trip, 8 B, waiting, one: 2.000, at most 1.15 by the goal: missed by 85.0 %.", "**Waiting**:",
		"| verbs | 4.00 (4.00 to 4.00) | µs | `ib_send_lat` |", "| more | not measured: there is none |",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "**Polling**:") {
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
