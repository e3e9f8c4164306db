//go:build linux

package shapes

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const pageFile = "../../../../docs/reference/devices.md"

// row returns the row of the page for a shape.
func row(s shape, names []string, results map[string][]finding) string {
	var runs, refused []string
	for i, name := range names {
		for _, f := range results[name] {
			text := f.What
			if len(names) > 1 && !sameForAll(f, names, results) {
				text += " (" + strings.Split(name, "-")[2] + ")"
			} else if i > 0 {
				continue
			}
			if f.Refused == "" {
				runs = append(runs, text)
			} else {
				refused = append(refused, text+": "+strings.TrimPrefix(f.Refused, "udat: "))
			}
		}
	}
	slices.Sort(runs)
	cell := func(lines []string) string { return strings.ReplaceAll(strings.Join(lines, "<br>"), "|", "\\|") }
	title := s.title
	if s.isMadeUp() {
		title = "*" + title + "*"
	}
	return "| `" + s.name + "` | " + title + " | " + cell(s.sources) + " | " + strings.Join(runs, ", ") + " | " + cell(refused) + " |  |\n"
}

// sameForAll reports whether all adapters have done the same.
func sameForAll(f finding, names []string, results map[string][]finding) bool {
	same := func(g finding) bool { return g.What == f.What && g.Refused == f.Refused }
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.ContainsFunc(results[name], same) })
}

// writeRow puts the row of a shape into the page, in the order of the names.
func writeRow(t *testing.T, file string, s shape, names []string, results map[string][]finding) {
	t.Helper()
	text := must(os.ReadFile(file))(t)
	var rows, others []string
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "| `"+s.name+"` |"):
		case strings.HasPrefix(line, "| `"):
			rows = append(rows, line)
		default:
			others = append(others, line)
		}
	}
	rows = append(rows, row(s, names, results))
	slices.Sort(rows)
	if err := os.WriteFile(file, []byte(strings.Join(others, "")+strings.Join(rows, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The page has a row for each shape, and no other.
func TestPageHasAllShapes(t *testing.T) {
	text := must(os.ReadFile(pageFile))(t)
	rows := strings.Count(string(text), "\n| `")
	shapes := allShapes(t)
	for _, s := range shapes {
		if !strings.Contains(string(text), "\n| `"+s.name+"` | ") {
			t.Errorf("the page has no row for %s: see the package's comment", s.name)
		}
	}
	if rows != len(shapes) {
		t.Errorf("the page has %d rows, there are %d shapes", rows, len(shapes))
	}
}
