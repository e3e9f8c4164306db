package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var manySample = &scale{
	Command: "scripts/bench --scale --page", Machine: machine{Host: "a host"}, Rounds: 2, Memory: 1966, Descriptors: 4096,
	Crowds: []crowdResult{
		{Adapter: "one", Count: 16, C: []figures{{"create": 2e6, "files": 1}, {"create": 4e6, "files": 1}},
			Go: []figures{{"create": 6e6, "heap": 2048, "files": 2}, {"create": 6e6, "heap": 2048, "files": 2}}},
		{Adapter: "one", Own: true, Count: 16, Missing: "it ended early"},
	},
	Waiters: []waiterResult{
		{Adapter: "one", Count: 100, EVDs: 100, C: []figures{{"wake": 8e6, "threads": 103}}, Go: []figures{{"wake": 2e6, "threads": 7}}},
		{Adapter: "one", Count: 100, EVDs: 1, Go: []figures{{"wake": 1e6, "threads": 7}}},
	},
}

func TestScalePage(t *testing.T) {
	text := manySample.markdown()
	for _, want := range []string{
		scaleTitle + "\n", "    scripts/bench --scale --page\n", "with 1966 MiB of memory",
		"### one, event dispatchers shared by all\n\n| endpoints | create, ms |", "\n| 16 | 3.00 / 6.00 = **2.00** |", "| 2.00 | 1.00 / 2.00 |\n",
		"\n\n### one, event dispatchers of their own\n", "| 16 | not measured: it ended early |",
		"| 100 | 100 | 8.00 / 2.00 = **0.25** | 103 / 7.00 |", "| 100 | 1 | 1.00 | 7.00 |", "may have 4096 here",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the section lacks %q:\n%s", want, text)
		}
	}
}

// A run of one kind keeps the page's results of the other.
func TestPageKeepsSections(t *testing.T) {
	folder := t.TempDir()
	page, file := filepath.Join(folder, "page.md"), filepath.Join(folder, "r.json")
	many := report{Command: manySample.Command, Rounds: 2, Scale: manySample}
	var text string
	for _, r := range []report{sample, many, sample, many} {
		if err := r.write(file); err != nil {
			t.Fatal(err)
		}
		if err := makePage(file, page); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text = string(got)
	}
	if want := sample.markdown() + "\n" + manySample.markdown(); text != want {
		t.Errorf("the page differs:\n%s", cmp.Diff(want, text))
	}
}

func TestSections(t *testing.T) {
	const page = "# A\n\ntext\n\n## B\n\n### b\n\n## BC\n\nc\n"
	if got := sectionOf(page, "## B"); got != "## B\n\n### b\n\n" {
		t.Errorf("got %q", got)
	}
	if got := sectionOf(page, "## D"); got != "" {
		t.Errorf("got %q", got)
	}
	if got := withSection(page, "## B", "## B\n\nnew\n"); got != "# A\n\ntext\n\n## B\n\nnew\n\n## BC\n\nc\n" {
		t.Errorf("got %q", got)
	}
	if got := withSection(page, "## BC", "## BC\n\nnew\n"); got != "# A\n\ntext\n\n## B\n\n### b\n\n## BC\n\nnew\n" {
		t.Errorf("got %q", got)
	}
	if got := withSection(page, "## D", "## D\n"); got != page+"\n## D\n" {
		t.Errorf("got %q", got)
	}
}

func TestReadFigures(t *testing.T) {
	got, err := readFigures("create=12 message=1.5e3")
	if want := (figures{"create": 12, "message": 1500}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := readFigures("create"); err == nil {
		t.Error("a name without a number is read")
	}
}

// The order changes from round to round, and a failure ends the measurement with its reason.
func TestByTurns(t *testing.T) {
	var order []bool
	var inC, inGo []figures
	missing := byTurns(2, time.Minute, &inC, &inGo, func(isGo bool) (figures, error) {
		order = append(order, isGo)
		if len(order) == 4 {
			return nil, errors.New("no more")
		}
		return figures{"n": float64(len(order))}, nil
	})
	if want := []bool{false, true, true, false}; !cmp.Equal(order, want) || missing != "no more" || len(inC) != 1 || len(inGo) != 2 {
		t.Errorf("the order was %v, %q; %d in C, %d in Go", order, missing, len(inC), len(inGo))
	}
	inGo = nil
	if missing := byTurns(3, -1, nil, &inGo, func(isGo bool) (figures, error) { return figures{}, nil }); missing != "" || len(inGo) != 1 {
		t.Errorf("%d rounds took longer than they may, %q", len(inGo), missing)
	}
	if missing := byTurns(3, time.Minute, nil, &inGo, func(isGo bool) (figures, error) { return figures{}, nil }); missing != "" || len(inGo) != 4 {
		t.Errorf("%q; %d in Go", missing, len(inGo))
	}
}
