package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() *Report {
	return &Report{
		Adapters: []Adapter{{Name: "one", Device: "dev0", Provider: "version 1.0"}, {Name: "two", Device: "dev0", Provider: "version 2.0"}},
		Results: []Result{
			{Clause: "G-01", Adapter: "one", Outcome: Shown, Published: "this", Cured: "it"},
			{Clause: "G-01", Adapter: "two", Outcome: Shown, Published: "this", Remark: "all but one"},
			{Clause: "G-02", Adapter: "one", Outcome: NotShown, Reason: "there is none", Needs: "one", Cured: "this | that"},
			{Clause: "G-02", Adapter: "two", Outcome: Violated, Reason: "it is\nwrong", Cured: "that"},
			{Clause: "G-03", Adapter: "one", Outcome: Shown, Remark: "all but one"},
		},
	}
}

// A page has a row for each clause, and a note for each reason.
func TestPage(t *testing.T) {
	var page bytes.Buffer
	if err := sample().WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `one` | dev0 | version 1.0 | 2 | 1 | 0 |\n",
		"| `two` | dev0 | version 2.0 | 1 | 0 | 1 |\n",
		" | shown | shown [1](#notes) | this | `one`: it |\n",
		" | **not shown** [2](#notes) | **violated** [3](#notes) |  | `one`: this \\| that; `two`: that |\n",
		" | shown [1](#notes) | not run |  |  |\n",
		" | not run | not run | ",
		"\n1. All but one.\n2. There is none. Needed: one.\n3. It is wrong.\n",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	for _, c := range Clauses {
		if n := strings.Count(page.String(), "\n| "+c.ID+" |"); n != 1 {
			t.Errorf("%s has %d rows", c.ID, n)
		}
	}
}

// A report survives JSON unchanged.
func TestJSON(t *testing.T) {
	var text bytes.Buffer
	if err := sample().WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), &got); diff != "" {
		t.Errorf("the report (-written +read):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`"passed"`), new(Outcome)); err == nil {
		t.Error("an unknown outcome is read")
	}
}

func TestWriteReport(t *testing.T) {
	for name, begin := range map[string]string{"a.md": "# Conformance\n", "a.json": "{\n"} {
		file := filepath.Join(t.TempDir(), name)
		if err := writeReport(t, sample(), file); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), begin) {
			t.Errorf("%s begins with %.20q", name, text)
		}
	}
	if err := writeReport(t, sample(), filepath.Join(t.TempDir(), "a.txt")); err == nil {
		t.Error("a report of an unknown kind is written")
	}
}
