package conformance

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var (
	adapterNames = flag.String("ia", os.Getenv("UDAT_TEST_IA"), "the adapters to run on: names that udat.Open takes, separated by commas")
	reportFile   = flag.String("report", "", "write a report to this `file`, a page to read; a relative name is relative to the package's folder")
)

func TestMain(m *testing.M) {
	if text := os.Getenv(peerVariable); text != "" {
		runPeer(text)
		return
	}
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
	report := &Report{}
	for _, name := range udattest.Names(t) {
		report.Adapters = append(report.Adapters, describe(t, name))
	}
	for _, c := range Clauses {
		t.Run(c.ID, func(t *testing.T) {
			for _, a := range report.Adapters {
				tr := &trial{clause: c, adapter: a.Name, outcome: Shown}
				passed := t.Run(a.Name, tr.run)
				if tr.T == nil {
					continue // -run has left it out
				}
				if !passed {
					tr.outcome = Violated
				}
				report.Results = append(report.Results, tr.result())
			}
			// A clause that ends the process leaves the results of the clauses before it.
			if *reportFile != "" {
				written := report
				if report.isOfPage() {
					written = forPage(t, report)
				}
				if err := os.WriteFile(*reportFile, []byte(written.String()), 0o644); err != nil {
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

// The page in docs is about the test bed's adapters. A machine has the adapters over soft-RoCE, or the one over
// soft-iWARP: each run has the results of the other device from the page.
var pageAdapters = []string{"ofa-v2-cma-rxe0", "ofa-v2-scm-rxe0", "ofa-v2-cma-siw0"}

const pageFile = "../../../docs/reference/conformance.md"

func readPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatalf("%v: the package's comment says how to write it", err)
	}
	return string(page)
}

// isOfPage reports whether the page is about all adapters of the report.
func (r *Report) isOfPage() bool {
	return !slices.ContainsFunc(r.Adapters, func(a Adapter) bool { return !slices.Contains(pageAdapters, a.Name) })
}

// forPage completes a report of adapters of the page.
func forPage(t *testing.T, report *Report) *Report {
	t.Helper()
	before, whole := Read(readPage(t)), &Report{}
	for _, name := range pageAdapters {
		if slices.ContainsFunc(report.Adapters, func(a Adapter) bool { return a.Name == name }) {
			whole.add(report, name)
		} else {
			whole.add(before, name)
		}
	}
	return whole
}

func comparePage(t *testing.T, report *Report) {
	t.Helper()
	switch {
	case os.Getenv("UDAT_TEST_SHAPE") != "":
		t.Log("not tested: the page is not about a device of another shape")
		return
	case !report.isOfPage():
		t.Logf("docs/reference/conformance.md is about %s: it is not compared", strings.Join(pageAdapters, ", "))
		return
	case len(report.Results) != len(Clauses)*len(report.Adapters):
		t.Logf("not all clauses were run: %s is not compared", pageFile)
		return
	}
	if diff := cmp.Diff(strings.Split(forPage(t, report).String(), "\n"), strings.Split(readPage(t), "\n")); diff != "" {
		t.Errorf("%s is stale, the package's comment says how to renew it (-of this run +in the file):\n%s", pageFile, diff)
	}
}

// trial is the attempt to show a clause on an adapter. It is the test, and keeps its first failure.
type trial struct {
	*testing.T
	ia       *udat.IA
	iwarp    bool // the device speaks it
	longRead int  // bytes of the reads that others wait for, 0 before the measurement: see occupy
	regions  []*udat.LMR

	clause                 Clause
	adapter                string
	outcome                Outcome
	reason, needs, remarks string // of the result's note
}

// result is the result, with a note of sentences.
func (t *trial) result() Result {
	var note []string
	for _, text := range []string{t.reason, t.needs, t.remarks} {
		if text != "" {
			note = append(note, strings.ToUpper(text[:1])+text[1:]+".")
		}
	}
	return Result{t.clause.ID, t.adapter, t.outcome, strings.Join(note, " ")}
}

func (t *trial) run(test *testing.T) {
	t.T = test
	udattest.CheckLeaks(t)
	t.ia = udattest.Open(t, t.adapter)
	t.iwarp = udattest.IWARP(t, t.ia)
	t.Log(t.clause.text)
	t.clause.try(t)
	if t.outcome == NotShown {
		t.Logf("not shown: %s; %s", t.reason, t.needs)
	}
}

// notShown records why the clause cannot be shown. The rest of the trial may still violate it.
func (t *trial) notShown(reason, needs string) {
	if !t.Failed() {
		t.outcome, t.reason, t.needs = NotShown, reason, "needed: "+needs
	}
}

// remark adds a note to a clause that is shown.
func (t *trial) remark(text string) {
	if t.Failed() || strings.Contains(t.remarks, text) {
		return
	}
	if t.remarks != "" {
		text = t.remarks + "; " + text
	}
	t.remarks = text
}

// remarkOnIWARP adds a note on how iWARP differs.
func (t *trial) remarkOnIWARP(text string) {
	if t.iwarp {
		t.remark(text)
	}
}

func (t *trial) complain(text string) {
	if !t.Failed() {
		t.reason, t.needs, t.remarks = text, "", ""
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
