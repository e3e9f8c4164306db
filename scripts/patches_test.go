//go:build linux && amd64

package scripts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The patches are a series as git makes them: numbered, each with who, what and why, and applied in that order.
func TestPatchSeries(t *testing.T) {
	files, err := filepath.Glob("patches/dapl/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no patches: %v", err)
	}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range patchProblems(i+1, filepath.Base(file), string(text)) {
			t.Errorf("%s %s", file, problem)
		}
	}
}

var (
	patchName    = regexp.MustCompile(`^\d{4}-[a-z-]+\.patch$`)
	patchHeader  = regexp.MustCompile(`^From [0-9a-f]{40} .*\nFrom: .+ <.+>\nDate: .+\nSubject: \[PATCH\] `)
	patchContent = regexp.MustCompile(`(?m)^diff --git a/(\S+) b/(\S+)$`)
)

// patchProblems says what is wrong with the patch of that number.
func patchProblems(number int, name, text string) (problems []string) {
	if !patchName.MatchString(name) || !strings.HasPrefix(name, fmt.Sprintf("%04d-", number)) {
		problems = append(problems, fmt.Sprintf("is number %d", number))
	}
	if !patchHeader.MatchString(text) {
		problems = append(problems, "has no header")
	}
	said, changes, found := strings.Cut(text, "\n---\n")
	if _, body, ok := strings.Cut(said, "\n\n"); !ok || len(strings.Fields(body)) < 20 {
		problems = append(problems, "does not say why")
	}
	if !found || !patchContent.MatchString(changes) {
		problems = append(problems, "changes nothing")
	}
	return problems
}

func TestPatchProblems(t *testing.T) {
	header := "From " + strings.Repeat("0", 40) + " Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nDate: now\nSubject: [PATCH] a: b\n\n"
	body := strings.Repeat("a word or two\n", 6) + "---\n"
	diff := "diff --git a/x b/x\n"
	for _, c := range []struct{ name, text, problem string }{
		{"0001-good.patch", header + body + diff, ""},
		{"0002-second.patch", header + body + diff, "is number 1"},
		{"good.patch", header + body + diff, "is number 1"},
		{"0001-bare.patch", body + diff, "has no header"},
		{"0001-short.patch", header + "Mends it.\n---\n" + diff, "does not say why"},
		{"0001-empty.patch", header + body, "changes nothing"},
	} {
		problems := patchProblems(1, c.name, c.text)
		switch {
		case c.problem == "" && len(problems) > 0:
			t.Errorf("%s has the problems %q", c.name, problems)
		case c.problem != "" && (len(problems) == 0 || problems[0] != c.problem):
			t.Errorf("%s has the problems %q, want %q", c.name, problems, c.problem)
		}
	}
}
