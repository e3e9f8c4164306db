//go:build linux

package soak

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var pageFlag = flag.String("soak.page", "", "add the results to the table of long runs in this file")

// writePage adds a row to the table of long runs. It replaces a row of the same kind and length. A run of another
// length has a row of its own.
func writePage(t *testing.T, what, provider, saw string) {
	t.Helper()
	if *pageFlag == "" {
		return
	}
	text, err := os.ReadFile(*pageFlag)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- long runs -->\n| what runs | provider | what was seen |\n|---|---|---|\n", "<!-- end of long runs -->"
	head, rest, found := strings.Cut(string(text), begin)
	table, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table of long runs", *pageFlag)
	}
	key := fmt.Sprintf("| %s | %s |", what, provider)
	rows := slices.DeleteFunc(strings.SplitAfter(table, "\n"), func(row string) bool { return row == "" || strings.HasPrefix(row, key) })
	rows = append(rows, fmt.Sprintf("%s %s |\n", key, saw))
	slices.Sort(rows)
	if err := os.WriteFile(*pageFlag, []byte(head+begin+strings.Join(rows, "")+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
