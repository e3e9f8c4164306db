package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

const none = "**none**"

// page writes the status as Markdown.
func (s *status) page() []byte {
	var b bytes.Buffer
	b.WriteString(`# API status

The Go functions for each function of the native API. scripts/apistatus writes this page from the installed headers, the
symbols of libdat2 and the Go sources; its comment says how. Do not edit.

`)
	b.WriteString(s.summary())
	b.WriteString(`
- **exported**: "no" means that the headers declare the function but the library lacks it, so that C programs cannot be
  linked with it either. Macros and inline functions are only in the headers.
- **raw wrapper**: in package cgo. **method**: in package udat; "-" for a function that is not exported. A method that
  [stands in](#stand-ins) does the work itself, and does not call the function. **tests**: one or two that use the
  method, or the raw wrapper if there is no method.

| C function | exported | raw wrapper | method | tests |
| --- | --- | --- | --- | --- |
`)
	for _, r := range s.rows {
		if r.exemption != nil && r.exemption.raw {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.name, r.kind(), links(r.raw), r.methodCell(), r.testCell())
	}
	b.WriteString("\n## Stand-ins\n\n")
	byReason := map[string][]string{}
	for _, name := range sortedKeys(standIns) {
		byReason[standIns[name]] = append(byReason[standIns[name]], "`"+name+"`")
	}
	for _, name := range sortedKeys(standIns) {
		if names := byReason[standIns[name]]; names[0] == "`"+name+"`" {
			fmt.Fprintf(&b, "- %s: %s\n", strings.Join(names, ", "), standIns[name])
		}
	}
	b.WriteString("\n## Left out\n\n")
	for i := range exemptions {
		e := &exemptions[i]
		var excused []string
		for _, r := range s.rows {
			if r.exemption == e {
				excused = append(excused, "`"+r.name+"`")
			}
		}
		if e.raw {
			fmt.Fprintf(&b, "- All of `%s`, %d functions: %s\n", e.name, len(excused), e.reason)
		} else {
			fmt.Fprintf(&b, "- A method for %s: %s\n", strings.Join(excused, " and "), e.reason)
		}
	}
	return b.Bytes()
}

// summary counts.
func (s *status) summary() string {
	var all, exported, missing, macros, inline, raw, methods, standing, tested, left int
	for _, r := range s.rows {
		if r.exemption != nil && r.exemption.raw {
			left++
			continue
		}
		all++
		switch {
		case r.exported:
			exported++
		case r.macro:
			macros++
		case r.inline:
			inline++
		default:
			missing++
		}
		if len(r.raw) > 0 {
			raw++
		}
		if len(r.allMethods()) > 0 {
			methods++
		}
		if slices.ContainsFunc(r.methods, func(w *wrapper) bool { return w.standsIn }) {
			standing++
		}
		if len(r.tests) > 0 {
			tested++
		}
	}
	return fmt.Sprintf("%d functions: %d exported, %d declared but not exported, %d macros, %d inline. "+
		"%d have a raw wrapper, %d a method, which stands in\nfor %d of them, %d a test. %d more are left out, see the end.\n",
		all, exported, missing, macros, inline, raw, methods, standing, tested, left)
}

func (r *row) methodCell() string {
	switch {
	case len(r.methods) > 0:
		return links(r.methods)
	case len(r.via) == 1 && len(r.allMethods()) > 0:
		return fmt.Sprintf("as `%s`", r.via[0].name)
	case len(r.via) > 1:
		return "by its macros"
	case r.exemption != nil || !r.linkable():
		return "-"
	}
	return none
}

func (r *row) testCell() string {
	var cells []string
	for _, u := range r.tests {
		cells = append(cells, link(u.test, u.file))
	}
	return list(cells)
}

func links(wrappers []*wrapper) string {
	var cells []string
	for _, w := range wrappers {
		cell := link(w.name, w.file)
		if w.standsIn {
			cell += " stands in"
		}
		cells = append(cells, cell)
	}
	return list(cells)
}

// link returns a link from the page's folder to a file of the module.
func link(text, file string) string { return fmt.Sprintf("[%s](../../%s)", text, file) }

func list(cells []string) string {
	if len(cells) == 0 {
		return none
	}
	return strings.Join(cells, ", ")
}
