package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const comment = "// Package udat is one.\npackage udat\n\n"

func TestCheck(t *testing.T) {
	long := strings.Repeat("word ", longest) + "word."
	for name, c := range map[string]struct{ file, text, want string }{
		"text of a link":       {"README.md", "# Title\n\nShort. `for ever` and [in place of](docs/x.md).\n\n| a | b |\n", `"in place of"`},
		"page":                 {"README.md", "It waits for\never.\n", "README.md:1: \"for ever\": write \"forever\""},
		"code":                 {"README.md", "```\nfor ever\n```\n\n    for ever\n", ""},
		"long sentence":        {"docs/a.md", long + "\n", "docs/a.md:1: 41 words"},
		"colon":                {"docs/a.md", "word: " + strings.TrimPrefix(long, "word ") + "\n", ""},
		"list":                 {"docs/a.md", strings.Repeat("- two words\n", longest), ""},
		"table":                {"docs/a.md", "| fine | nor does it |\n", "docs/a.md:1"},
		"generated page":       {"docs/porting-table.md", "for ever\n", ""},
		"gives on a page":      {"docs/a.md", "It gives the value.\n", ""},
		"comment":              {"udat/a.go", comment + "// F gives the value.\nfunc F() {}\n", "udat/a.go:4: \"gives the\""},
		"comment of a package": {"udat/a.go", "// Package udat runs for ever.\npackage udat\n", "udat/a.go:1"},
		"comment of a method":  {"cgo/a.go", comment + "type x int\n\n// M runs for ever.\nfunc (x) M() {}\n", "cgo/a.go:6"},
		"unexported":           {"udat/a.go", comment + "// f gives the value.\nfunc f() {}\n", ""},
		"test":                 {"udat/a_test.go", comment + "// F gives the value.\nfunc F() {}\n", ""},
		"other package":        {"scripts/a.go", comment + "// F gives the value.\nfunc F() {}\n", ""},
		"type":                 {"udat/a.go", comment + "// T is there for ever.\ntype T int\n", "udat/a.go:4"},
		"prototype":            {"udat/a.go", comment + "// F is one.\n//\n//\tfor ever\nfunc F() {}\n", ""},
		"gives up":             {"udat/a.go", comment + "// F gives up.\nfunc F() {}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, c.file, c.text)
			complaints, err := check(folder)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(complaints, "\n")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
