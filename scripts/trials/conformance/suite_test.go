package conformance

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var (
	adapterNames = flag.String("ia", os.Getenv("UDAT_TEST_IA"), "the adapters to run on: names that udat.Open takes, separated by commas")
	reportFile   = flag.String("report", "", "write a report to this `file`, a page to read (.md) or JSON (.json); "+
		"a relative name is relative to the package's folder")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := os.Setenv("UDAT_TEST_IA", *adapterNames); err != nil {
		panic(err)
	}
	// The states that the clauses pass through are also compared with the specification's table.
	udat.SetAssertions(func(err error) { panic(err) })
	udattest.Main(m)
}

// TestClauses runs the trial of each clause on each adapter and reports the results. It fails when a clause is
// violated, or the page in docs is out of date.
func TestClauses(t *testing.T) {
	report, published := &Report{}, readPublished(t)
	for _, name := range udattest.Names(t) {
		report.Adapters = append(report.Adapters, describe(t, name))
	}
	for _, c := range Clauses {
		t.Run(c.ID, func(t *testing.T) {
			for _, a := range report.Adapters {
				tr := &trial{result: Result{Clause: c.ID, Adapter: a.Name, Outcome: Shown}}
				passed := t.Run(a.Name, tr.run)
				if tr.T == nil {
					continue // -run has left it out
				}
				if !passed {
					tr.result.Outcome = Violated
				}
				tr.result.Published = published[a.Name][c.ID]
				tr.result.Cured = observe(t, c.ID, a.Name)
				report.Results = append(report.Results, tr.result)
			}
			// A clause that ends the process leaves the results of the clauses before it.
			if *reportFile != "" {
				if err := writeReport(t, report, *reportFile); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, a := range report.Adapters {
		t.Logf("%s: %d clauses shown, %d not shown, %d violated", a.Name,
			report.Count(a.Name, Shown), report.Count(a.Name, NotShown), report.Count(a.Name, Violated))
	}
	comparePage(t, report)
}

func describe(t *testing.T, name string) Adapter {
	t.Helper()
	attr, provider, err := udattest.Open(t, name).Query()
	if err != nil {
		t.Fatal(err)
	}
	return Adapter{
		Name:   name,
		Device: attr.AdapterName,
		Provider: fmt.Sprintf("version %d.%d, interface %d.%d", provider.ProviderVersionMajor, provider.ProviderVersionMinor,
			provider.DaplVersionMajor, provider.DaplVersionMinor),
	}
}

func writeReport(t *testing.T, report *Report, file string) error {
	t.Helper()
	var text bytes.Buffer
	write := report.WriteJSON
	switch filepath.Ext(file) {
	case ".md":
		write = forPage(t, report).WriteMarkdown
	case ".json":
	default:
		return fmt.Errorf("the report's name is %s, it must end in .md or .json", file)
	}
	if err := write(&text); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

// The page in docs is about the test bed's adapters. A machine has the adapters over soft-RoCE, or the one over
// soft-iWARP, whose report is kept for the page.
var (
	pageAdapters = []string{"ofa-v2-cma-rxe0", "ofa-v2-scm-rxe0"}
	keptAdapters = []string{"ofa-v2-cma-siw0"}
)

const (
	pageFile = "../../../docs/reference/conformance.md"
	keptFile = "testdata/siw.json"
)

func (r *Report) isOf(adapters []string) bool {
	return slices.EqualFunc(r.Adapters, adapters, func(a Adapter, name string) bool { return a.Name == name })
}

// forPage adds the kept report to a report of the adapters that the page begins with.
func forPage(t *testing.T, report *Report) *Report {
	t.Helper()
	if !report.isOf(pageAdapters) {
		return report
	}
	text, err := os.ReadFile(keptFile)
	if err != nil {
		t.Fatal(err)
	}
	var kept Report
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatalf("%s: %v", keptFile, err)
	}
	return &Report{Adapters: slices.Concat(report.Adapters, kept.Adapters), Results: slices.Concat(report.Results, kept.Results)}
}

func comparePage(t *testing.T, report *Report) {
	t.Helper()
	if os.Getenv("UDAT_TEST_SHAPE") != "" {
		t.Log("not tested: the page is not about a device of another shape")
		return
	}
	file, write := pageFile, forPage(t, report).WriteMarkdown
	switch {
	case report.isOf(keptAdapters):
		file, write = keptFile, report.WriteJSON
	case !report.isOf(pageAdapters):
		t.Logf("docs/reference/conformance.md is about %s: it is not compared", strings.Join(slices.Concat(pageAdapters, keptAdapters), ", "))
		return
	}
	if !report.Complete() {
		t.Logf("not all clauses were run: %s is not compared", file)
		return
	}
	var want bytes.Buffer
	if err := write(&want); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: the package's comment says how to write it", err)
	}
	if diff := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(string(page), "\n")); diff != "" {
		t.Errorf("%s is stale, the package's comment says how to renew it (-of this run +in the file):\n%s", file, diff)
	}
}

// trials maps each clause to its trial.
var trials = make(map[string]func(*trial))

// try adds the trials of a page.
func try(page map[string]func(*trial)) bool {
	for id, do := range page {
		trials[id] = do
	}
	return true
}

func TestEachClauseIsTried(t *testing.T) {
	for _, c := range Clauses {
		if trials[c.ID] == nil || probes[c.ID] == nil {
			t.Errorf("%s has no trial, or no probe", c.ID)
		}
	}
	if len(trials) != len(Clauses) || len(probes) != len(Clauses) {
		t.Errorf("there are %d trials and %d probes for %d clauses", len(trials), len(probes), len(Clauses))
	}
}

// trial is the attempt to show a clause on an adapter. It is the test, and keeps its first failure.
type trial struct {
	*testing.T
	ia       *udat.IA
	iwarp    bool // the device speaks it
	longRead int  // bytes of the reads that others wait for, 0 before the measurement: see occupy
	regions  []*udat.LMR
	result   Result
}

func (t *trial) run(test *testing.T) {
	t.T = test
	udattest.CheckLeaks(t)
	t.ia = udattest.Open(t, t.result.Adapter)
	t.iwarp = udattest.IWARP(t, t.ia)
	trials[t.result.Clause](t)
	if t.result.Outcome == NotShown {
		t.Logf("not shown: %s; needed: %s", t.result.Reason, t.result.Needs)
	}
}

// notShown records why the clause cannot be shown. The rest of the trial may still violate it.
func (t *trial) notShown(reason, needs string) {
	if !t.Failed() {
		t.result.Outcome, t.result.Reason, t.result.Needs = NotShown, reason, needs
	}
}

// remark adds a note to a clause that is shown.
func (t *trial) remark(text string) {
	if t.Failed() || strings.Contains(t.result.Remark, text) {
		return
	}
	if t.result.Remark != "" {
		text = t.result.Remark + "; " + text
	}
	t.result.Remark = text
}

// remarkOnIWARP adds a note on how iWARP differs.
func (t *trial) remarkOnIWARP(text string) {
	if t.iwarp {
		t.remark(text)
	}
}

func (t *trial) complain(text string) {
	if !t.Failed() {
		t.result.Reason, t.result.Needs, t.result.Remark = text, "", ""
	}
}

func (t *trial) Error(args ...any) {
	t.Helper()
	t.complain(fmt.Sprint(args...))
	t.T.Error(args...)
}

func (t *trial) Errorf(format string, args ...any) {
	t.Helper()
	t.complain(fmt.Sprintf(format, args...))
	t.T.Errorf(format, args...)
}

func (t *trial) Fatal(args ...any) {
	t.Helper()
	t.complain(fmt.Sprint(args...))
	t.T.Fatal(args...)
}

func (t *trial) Fatalf(format string, args ...any) {
	t.Helper()
	t.complain(fmt.Sprintf(format, args...))
	t.T.Fatalf(format, args...)
}
