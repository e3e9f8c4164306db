//go:build linux

package soak

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goudat/goudat/scripts/trials/internal/process"
)

var pageFlag = flag.String("soak.page", "", "add the results to the table of long runs in this file")

// writePage adds a row to the table of long runs. It replaces a row of the same kind and length. A run of another
// length has a row of its own.
func writePage(t *testing.T, what, provider, saw string) {
	t.Helper()
	if *pageFlag == "" {
		return
	}
	const begin, end = "<!-- long runs -->\n| what runs | provider | what was seen |\n|---|---|---|\n", "<!-- end of long runs -->"
	err := process.ReplaceInPage(*pageFlag, begin, end, func(table string) string {
		key := fmt.Sprintf("| %s | %s |", what, provider)
		rows := slices.DeleteFunc(strings.SplitAfter(table, "\n"), func(row string) bool { return row == "" || strings.HasPrefix(row, key) })
		rows = append(rows, fmt.Sprintf("%s %s |\n", key, saw))
		slices.Sort(rows)
		return strings.Join(rows, "")
	})
	if err != nil {
		t.Fatal(err)
	}
}
