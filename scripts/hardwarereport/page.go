package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// table is one in Markdown.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	var b strings.Builder
	row := func(cells []string) {
		for i, cell := range cells {
			if i > 0 {
				b.WriteString(" |")
			}
			b.WriteString(" " + strings.ReplaceAll(oneLine(cell), "|", `\|`))
		}
	}
	line := func(cells []string) {
		b.WriteString("|")
		row(cells)
		b.WriteString(" |\n")
	}
	line(t.head)
	b.WriteString("|" + strings.Repeat("---|", len(t.head)) + "\n")
	for _, cells := range t.rows {
		line(cells)
	}
	return b.String()
}

// folded is text that a reader can open.
func folded(title, text string) string {
	return fmt.Sprintf("<details><summary>%s</summary>\n\n%s\n</details>\n", title, text)
}

// page is the report.
func (r *report) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# goudat on %s\n\n", r.clean.known(r.here.fact("device")))
	between := "on one host"
	if r.there != nil {
		between = "on one host, and between two"
	}
	fmt.Fprintf(&b, "Written by `scripts/report`%s on %s, in %v, %s. Names and addresses are left out.\n\n", quickly(r.quick),
		r.began.UTC().Format(time.DateOnly), time.Since(r.began).Round(time.Second), between)

	steps := table{head: []string{"step", "outcome", "took"}}
	for _, s := range r.done {
		summary := s.summary
		if s.failed {
			summary = "**" + summary + "**"
		}
		steps.add(s.title, summary, s.took.Round(time.Second).String())
	}
	b.WriteString(steps.String())

	b.WriteString("\n## Hosts\n\n")
	b.WriteString(r.hosts())
	if len(r.here.Findings) > 0 {
		b.WriteString("\nProblems that `udatinfo` finds:\n\n")
		for _, finding := range r.here.Findings {
			fmt.Fprintf(&b, "* %s\n", r.clean.text(oneLine(finding)))
		}
	}
	b.WriteString("\n## Adapters\n\n")
	b.WriteString(r.attributes())
	for _, s := range r.done {
		if s.text != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s: %s.\n\n%s", strings.ToUpper(s.title[:1])+s.title[1:], "Outcome", s.summary, s.text)
		}
	}
	if r.details.Len() > 0 {
		fmt.Fprintf(&b, "\n## What went wrong\n\n%s", strings.TrimRight(r.details.String(), "\n")+"\n")
	}
	return b.String()
}

func quickly(quick bool) string {
	if quick {
		return " --quick"
	}
	return ""
}

func (h *host) fact(name string) string {
	for _, f := range h.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return "unknown"
}

func (r *report) hosts() string {
	t := table{head: []string{"", "this host"}}
	if r.there != nil {
		t.head = append(t.head, "the other host")
	}
	for _, f := range r.here.Facts {
		row := []string{f.Name, r.value(f)}
		if r.there != nil {
			row = append(row, r.value(fact{f.Name, r.there.fact(f.Name)}))
		}
		t.add(row...)
	}
	return t.String()
}

// value cleans a fact. Versions have parts like those of addresses.
func (r *report) value(f fact) string {
	return r.clean.known(namedByID.ReplaceAllString(f.Value, "$1"+anAddress))
}

// attributes lists the attributes of the adapters that open, and why the others do not open.
func (r *report) attributes() string {
	var b strings.Builder
	names := map[string]bool{}
	opened := r.here.opened()
	t := table{head: []string{""}}
	for _, a := range opened {
		t.head = append(t.head, a.Provider)
		for name := range a.Attribute {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := []string{name}
		for _, a := range opened {
			row = append(row, r.clean.text(a.Attribute[name]))
		}
		t.add(row...)
	}
	for _, a := range r.here.Adapters {
		if a.Opens {
			fmt.Fprintf(&b, "* %s opens.\n", a.Provider)
		} else {
			fmt.Fprintf(&b, "* **%s does not open**: %s\n", a.Provider, r.clean.text(oneLine(a.Problem)))
		}
	}
	if len(opened) > 0 {
		b.WriteString("\n" + folded("Attributes", t.String()))
	}
	return b.String()
}
