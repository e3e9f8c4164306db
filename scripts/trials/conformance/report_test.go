package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() *Report {
	return &Report{
		Adapters: []Adapter{{Name: "one", Device: "dev0", Provider: "version 1.0"}, {Name: "two", Device: "dev0", Provider: "version 2.0"}},
		Results: []Result{
			{"G-01", "one", Shown, ""},
			{"G-01", "two", Shown, "All but one."},
			{"G-02", "one", NotShown, "There is none. Needed: one | two."},
			{"G-02", "two", Violated, "It is\nwrong."},
			{"G-03", "one", Shown, "All but one."},
		},
	}
}

// A page has a row for each clause, and a note for each reason.
func TestPage(t *testing.T) {
	page := sample().String()
	for _, want := range []string{
		"| `one` | dev0 | version 1.0 | 2 | 1 | 0 |\n",
		"| `two` | dev0 | version 2.0 | 1 | 0 | 1 |\n",
		" | shown | shown [1](#notes) |\n",
		" | **not shown** [2](#notes) | **violated** [3](#notes) |\n",
		" | shown [1](#notes) | not run |\n",
		" | not run | not run |\n",
		"\n1. All but one.\n2. There is none. Needed: one | two.\n3. It is wrong.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	for _, c := range Clauses {
		if n := strings.Count(page, "\n| "+c.ID+" |"); n != 1 {
			t.Errorf("%s has %d rows", c.ID, n)
		}
	}
}

// What is read from a page makes the same page again, also beside the results of another run.
func TestReadPage(t *testing.T) {
	want, got := sample(), Read(sample().String())
	want.Results[3].Note = "It is wrong."
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the report (-written +read):\n%s", diff)
	}
	both := &Report{}
	for _, name := range []string{"two", "one", "three"} {
		both.add(got, name)
	}
	if len(both.Results) != len(want.Results) || !slices.Equal(both.Adapters, []Adapter{want.Adapters[1], want.Adapters[0]}) {
		t.Errorf("the adapters of a report are %v, with %d results", both.Adapters, len(both.Results))
	}
}
