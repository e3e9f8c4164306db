package main

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/goudat/goudat/scripts/porting/internal/guide"
)

// report prints what was found.
type report struct {
	out   io.Writer
	brief bool

	places, calls int
	warnings      map[string]int
	missing       map[string]map[string][]string // places by kind and name
	unknown       map[string][]string            // places by name
	reasons       map[string]string
	gaps          []gap
}

func newReport(out io.Writer, brief bool) *report {
	return &report{
		out: out, brief: brief, warnings: map[string]int{}, missing: map[string]map[string][]string{},
		unknown: map[string][]string{}, reasons: map[string]string{},
	}
}

func (r *report) file(places []*place, gaps []gap) {
	told := map[string]bool{}
	for _, p := range places {
		r.count(p)
		if r.brief && len(p.warnings) == 0 {
			continue
		}
		fmt.Fprintf(r.out, "%s: %s", p.file.place(p.offset), clip(p.name))
		if p.golang != "" {
			fmt.Fprintf(r.out, ": %s", p.golang)
		}
		fmt.Fprintln(r.out)
		if !told[p.name] {
			told[p.name] = true
			for _, recipe := range p.recipes {
				fmt.Fprintf(r.out, "\trecipe: %s\n", recipe)
			}
		}
		for _, w := range p.warnings {
			fmt.Fprintf(r.out, "\twarning: %s: %s; see %s#%s\n", w.subject, w.text, guide.File, subjects[w.subject])
		}
	}
	r.gaps = append(r.gaps, gaps...)
}

func (r *report) count(p *place) {
	if p.golang != "" {
		r.places++
	}
	if p.call {
		r.calls++
	}
	for _, w := range p.warnings {
		r.warnings[w.subject]++
	}
	where := fmt.Sprintf("%s:%d", p.file.name, p.file.line(p.offset))
	switch {
	case p.missing:
		if r.missing[p.kind] == nil {
			r.missing[p.kind] = map[string][]string{}
		}
		r.missing[p.kind][p.name] = append(r.missing[p.kind][p.name], where)
		r.reasons[p.name] = p.golang
	case p.unknown:
		r.unknown[p.name] = append(r.unknown[p.name], where)
		r.reasons[p.name] = p.golang
	}
}

func (r *report) summary() {
	fmt.Fprintf(r.out, "\n%d places, %d of them calls.\n", r.places, r.calls)
	for _, subject := range sorted(subjects) {
		if n := r.warnings[subject]; n > 0 {
			fmt.Fprintf(r.out, "%d warnings of the subject %s: %s#%s\n", n, subject, guide.File, subjects[subject])
		}
	}
	for _, kind := range []string{guide.Function, guide.Type, guide.Constant, guide.Member} {
		r.names("Without a counterpart in Go: each "+kind, r.missing[kind])
	}
	r.names("Unknown to uDAPL 2.0:", r.unknown)
	if len(r.gaps) > 0 {
		fmt.Fprintln(r.out, "\nNot understood, look there:")
	}
	for _, g := range r.gaps {
		fmt.Fprintf(r.out, "%s: %s\n", g.file.place(g.offset), g.what)
	}
}

func (r *report) names(title string, names map[string][]string) {
	if len(names) > 0 {
		fmt.Fprintf(r.out, "\n%s\n", title)
	}
	for _, name := range sorted(names) {
		where := slices.Compact(names[name])
		more := ""
		if len(where) > 5 {
			more = fmt.Sprintf(" and %d more", len(where)-5)
			where = where[:5]
		}
		fmt.Fprintf(r.out, "%s: %s (%s%s)\n", name, r.reasons[name], strings.Join(where, ", "), more)
	}
}

func sorted[V any](m map[string]V) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
