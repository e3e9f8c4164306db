package conformance

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Outcome is the suite's verdict on a clause on an adapter.
type Outcome string

// The outcomes, as a page has them.
const (
	Violated Outcome = "violated"
	NotShown Outcome = "not shown"
	Shown    Outcome = "shown"
)

// Report is the result of a run of the suite.
type Report struct {
	Adapters []Adapter
	Results  []Result
}

// Adapter is an adapter that the suite ran on.
type Adapter struct {
	Name     string // that it was opened by
	Device   string
	Provider string // the provider's version and that of its interface
}

// Result is the suite's result for a clause on an adapter.
type Result struct {
	Clause  string // its ID
	Adapter string
	Outcome Outcome
	// Note has sentences: how the clause is violated, why it is not shown and what it would take, or a remark.
	Note string
}

// Count returns how many clauses have the outcome on the adapter.
func (r *Report) Count(adapter string, o Outcome) (n int) {
	for _, result := range r.Results {
		if result.Adapter == adapter && result.Outcome == o {
			n++
		}
	}
	return n
}

// add takes an adapter and its results from another report, if that has them.
func (r *Report) add(from *Report, adapter string) {
	for _, a := range from.Adapters {
		if a.Name == adapter {
			r.Adapters = append(r.Adapters, a)
		}
	}
	for _, result := range from.Results {
		if result.Adapter == adapter {
			r.Results = append(r.Results, result)
		}
	}
}

const introduction = `# Conformance

What the uDAPL manual pages on endpoints require, clause by clause, and what programs get that use ` + "`udat`" + `. The suite in
` + "`scripts/trials/conformance`" + ` has written this page. Its package comment says how to renew the page, and the README how to run the
suite on another provider. Do not edit.

* **shown**: the suite has tried the clause, and seen what it requires. A number refers to a remark.
* **not shown**: the clause cannot be tried on this provider. A number refers to the reason, and to what would be needed.

The early states are UNCONNECTED, RESERVED, PASSIVE_CONNECTION_PENDING and TENTATIVE_CONNECTION_PENDING.
`

// String returns the report as a page to read. Equal results make equal pages.
func (r *Report) String() string {
	p := &page{report: r}
	p.line("%s", introduction)
	p.head("adapter", "device", "provider", "shown", "not shown", "violated")
	for _, a := range r.Adapters {
		count := func(o Outcome) string { return fmt.Sprint(r.Count(a.Name, o)) }
		p.row("`"+a.Name+"`", a.Device, a.Provider, count(Shown), count(NotShown), count(Violated))
	}
	for _, manual := range Pages {
		p.clauses(manual)
	}
	if len(p.notes) > 0 {
		p.line("\n## Notes\n")
	}
	for i, note := range p.notes {
		p.line("%d. %s", i+1, note)
	}
	return p.text.String()
}

// page builds the text of a report.
type page struct {
	report *Report
	text   strings.Builder
	notes  []string
}

func (p *page) line(format string, args ...any) {
	fmt.Fprintf(&p.text, format, args...)
	p.text.WriteByte('\n')
}

// row writes a row of a table.
func (p *page) row(cells ...string) {
	for i := range cells {
		cells[i] = strings.ReplaceAll(strings.ReplaceAll(cells[i], "|", `\|`), "\n", " ")
	}
	p.line("| %s |", strings.Join(cells, " | "))
}

func (p *page) head(cells ...string) {
	p.row(cells...)
	p.line("|%s", strings.Repeat("---|", len(cells)))
}

func (p *page) clauses(manual Page) {
	p.line("\n## %s: `%s`\n", manual.Function, manual.Method)
	if manual.Letter == 'M' {
		p.line("Up to M-25, each clause is a field and the states in which it may change.\n")
	}
	head := []string{"", "requirement"}
	for _, a := range p.report.Adapters {
		head = append(head, "`"+a.Name+"`")
	}
	p.head(head...)
	for _, c := range Clauses {
		if c.ID[0] != manual.Letter {
			continue
		}
		row := []string{c.ID, c.text}
		for _, a := range p.report.Adapters {
			row = append(row, p.outcome(c.ID, a.Name))
		}
		p.row(row...)
	}
}

func (p *page) outcome(id, adapter string) string {
	i := slices.IndexFunc(p.report.Results, func(r Result) bool { return r.Clause == id && r.Adapter == adapter })
	if i < 0 {
		return "not run"
	}
	result := p.report.Results[i]
	text := string(result.Outcome)
	if result.Outcome != Shown {
		text = "**" + text + "**"
	}
	if result.Note == "" {
		return text
	}
	note := strings.Join(strings.Fields(result.Note), " ")
	if !slices.Contains(p.notes, note) {
		p.notes = append(p.notes, note)
	}
	return fmt.Sprintf("%s [%d](#notes)", text, slices.Index(p.notes, note)+1)
}

var (
	adapterRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*?) \\| (.*?) \\| \\d")
	clauseRow  = regexp.MustCompile(`(?m)^\| ([A-Z]-\d\d) \| .*? \| (.*) \|$`)
	cell       = regexp.MustCompile(`^(?:\*\*)?(shown|not shown|violated)(?:\*\*)?(?: \[(\d+)\]\(#notes\))?$`)
	noteLine   = regexp.MustCompile(`(?m)^(\d+)\. (.*)$`)
)

// Read reads a page that String has made.
func Read(text string) *Report {
	r, notes := &Report{}, map[string]string{}
	for _, m := range noteLine.FindAllStringSubmatch(text, -1) {
		notes[m[1]] = m[2]
	}
	for _, m := range adapterRow.FindAllStringSubmatch(text, -1) {
		r.Adapters = append(r.Adapters, Adapter{m[1], m[2], m[3]})
	}
	for _, row := range clauseRow.FindAllStringSubmatch(text, -1) {
		for i, outcome := range strings.Split(row[2], " | ") {
			if m := cell.FindStringSubmatch(outcome); m != nil && i < len(r.Adapters) {
				r.Results = append(r.Results, Result{row[1], r.Adapters[i].Name, Outcome(m[1]), notes[m[2]]})
			}
		}
	}
	return r
}
