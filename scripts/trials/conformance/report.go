package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
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

	// Reason says why the clause is not shown, or how it is violated. Needs says what it would take to show it.
	Reason string `json:",omitempty"`
	Needs  string `json:",omitempty"`
	// Remark is a note on a clause that is shown.
	Remark string `json:",omitempty"`
	// Published is what the native library does as it was published, and Cured what that of scripts/native does, without
	// package udat. They are "" where that was not tried.
	Published string `json:",omitempty"`
	Cured     string `json:",omitempty"`
}

// Complete reports whether there is a result for each clause on each adapter.
func (r *Report) Complete() bool { return len(r.Results) == len(Clauses)*len(r.Adapters) }

// Count returns how many clauses have the outcome on the adapter.
func (r *Report) Count(adapter string, o Outcome) (n int) {
	for _, result := range r.Results {
		if result.Adapter == adapter && result.Outcome == o {
			n++
		}
	}
	return n
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

const introduction = `# Conformance

What the uDAPL manual pages on endpoints require, clause by clause, and what programs get that use ` + "`udat`" + `. The suite in
` + "`scripts/trials/conformance`" + ` has written this page. Its package comment says how to renew the page, and the README how to run the
suite on another provider. Do not edit.

* **shown**: the suite has tried the clause, and seen what it requires. A number refers to a remark.
* **not shown**: the clause cannot be tried on this provider. A number refers to the reason, and to what would be needed.
* **C, as published** and **C, cured**: what the native library does without ` + "`udat`" + `, as it was published, and with the
  patches of [scripts/dapl](../../scripts/dapl/README.md). Where the adapters differ, their names come first. ` + "`udat`" + ` checks
  arguments and handles, which C leaves to its callers.

The early states are ` + Early + `.
`

// WriteMarkdown writes the report as a page to read. Equal results produce equal pages.
func (r *Report) WriteMarkdown(w io.Writer) error {
	p := &page{report: r}
	p.text.WriteString(introduction)
	p.adapters()
	for _, manual := range Pages {
		p.clauses(manual)
	}
	p.footnotes()
	_, err := io.WriteString(w, p.text.String())
	return err
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

func (p *page) adapters() {
	p.line("")
	p.head("adapter", "device", "provider", "shown", "not shown", "violated")
	for _, a := range p.report.Adapters {
		count := func(o Outcome) string { return fmt.Sprint(p.report.Count(a.Name, o)) }
		p.row("`"+a.Name+"`", a.Device, a.Provider, count(Shown), count(NotShown), count(Violated))
	}
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
	p.head(append(head, "C, as published", "C, cured")...)
	for _, c := range Clauses {
		if c.ID[0] != manual.Letter {
			continue
		}
		row := []string{c.ID, c.Text}
		for _, a := range p.report.Adapters {
			row = append(row, p.outcome(c.ID, a.Name))
		}
		p.row(append(row, p.library(c.ID, func(r Result) string { return r.Published }), p.library(c.ID, func(r Result) string { return r.Cured }))...)
	}
}

func (p *page) result(id, adapter string) (Result, bool) {
	i := slices.IndexFunc(p.report.Results, func(r Result) bool { return r.Clause == id && r.Adapter == adapter })
	if i < 0 {
		return Result{}, false
	}
	return p.report.Results[i], true
}

func (p *page) outcome(id, adapter string) string {
	result, ok := p.result(id, adapter)
	if !ok {
		return "not run"
	}
	text := result.Outcome.String()
	if result.Outcome != Shown {
		text = "**" + text + "**"
	}
	var notes []string
	for _, note := range []string{sentence(result.Reason, ""), sentence(result.Needs, "needed: "), sentence(result.Remark, "")} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	if len(notes) > 0 {
		text += p.note(strings.Join(notes, " "))
	}
	return text
}

// sentence capitalizes a text and adds a full stop.
func sentence(text, before string) string {
	if text == "" {
		return ""
	}
	text = before + text
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// note returns the mark of a footnote. Equal texts share a footnote.
func (p *page) note(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	i := slices.Index(p.notes, text)
	if i < 0 {
		i = len(p.notes)
		p.notes = append(p.notes, text)
	}
	return fmt.Sprintf(" [%d](#notes)", i+1)
}

func (p *page) footnotes() {
	if len(p.notes) == 0 {
		return
	}
	p.line("\n## Notes\n")
	for i, note := range p.notes {
		p.line("%d. %s", i+1, note)
	}
}

// library returns what the library does, once if the adapters agree.
func (p *page) library(id string, text func(Result) string) string {
	seenOn := make(map[string][]string)
	var seen []string
	for _, a := range p.report.Adapters {
		result, _ := p.result(id, a.Name)
		if did := text(result); did != "" {
			if seenOn[did] == nil {
				seen = append(seen, did)
			}
			seenOn[did] = append(seenOn[did], "`"+a.Name+"`")
		}
	}
	for i, did := range seen {
		if len(seenOn[did]) < len(p.report.Adapters) {
			seen[i] = strings.Join(seenOn[did], ", ") + ": " + did
		}
	}
	return strings.Join(seen, "; ")
}
