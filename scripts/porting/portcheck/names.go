package main

import (
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/goudat/goudat/scripts/porting/internal/guide"
)

// place is a place of a file that has to do with uDAPL.
type place struct {
	file     *source
	offset   int
	name     string   // in C
	golang   string   // what Go has for it
	call     bool     // a call of a function
	kind     string   // one of the guide's
	missing  bool     // Go has nothing
	unknown  bool     // it has the form of a name of uDAPL, and is none of 2.0
	recipes  []string // rows of the guide
	warnings []warning
}

// checker looks at a program.
type checker struct {
	guide   *guide.Guide
	program *program
	file    *source // the file that it is looking at
	old     bool    // the file includes the headers of uDAPL 1.x
	places  map[int]*place
	gaps    []gap
}

// gap is something that was not understood.
type gap struct {
	file   *source
	offset int
	what   string
}

var nameForm = regexp.MustCompile(`^(dats?_|DAT_|DCNT_)\w+$`)

// check returns the places of a file, in their order, and what was not understood.
func (c *checker) check(s *source) (places []*place, gaps []gap) {
	c.file, c.places, c.gaps, c.old = s, map[int]*place{}, nil, oldHeaders.Match(s.text)
	met := map[int]bool{}
	s.root.walk(func(n *node) bool {
		if len(n.children) == 0 && strings.HasSuffix(n.kind, "identifier") {
			met[n.offset] = true
			c.name(n)
		}
		return c.brokenNode(n)
	})
	s.root.walk(func(n *node) bool { c.warn(n); return true })
	for offset, name := range s.identifiers {
		switch {
		case !nameForm.MatchString(name + "x"):
		case s.pasted[offset]:
			c.gap(offset, "the preprocessor makes a name of "+name+" and something else")
		case !met[offset]:
			c.gap(offset, name+" is in text that does not parse")
		}
	}
	for _, p := range c.places {
		places = append(places, p)
	}
	sort.Slice(places, func(i, j int) bool { return places[i].offset < places[j].offset })
	sort.Slice(c.gaps, func(i, j int) bool { return c.gaps[i].offset < c.gaps[j].offset })
	return places, c.gaps
}

func (c *checker) gap(offset int, what string) {
	c.gaps = append(c.gaps, gap{c.file, offset, what})
}

// brokenNode records where the parser did not understand the text, once a line. Names of headers and of parameters of
// macros do not count. Of the body of a macro, only one with names of uDAPL counts: many bodies are no whole statements.
func (c *checker) brokenNode(n *node) bool {
	if !n.broken || n.within("preproc_include", "preproc_params") != nil || n.within("preproc_arg") != nil && !mentions(n, nameForm) {
		return true
	}
	// What is put around the body to parse it is not in the file.
	if body := n.within("preproc_arg"); body != nil && n.offset < body.offset {
		n = body
	}
	line := c.file.line(n.offset)
	if slices.ContainsFunc(c.gaps, func(g gap) bool { return c.file.line(g.offset) == line }) {
		return true
	}
	text := clip(n.text)
	if text == "" {
		text = "something is missing, perhaps " + n.kind
	}
	c.gap(min(n.offset, len(c.file.text)), "syntax: "+text)
	return true
}

func mentions(n *node, form *regexp.Regexp) (found bool) {
	n.walk(func(n *node) bool {
		found = found || len(n.children) == 0 && form.MatchString(n.text)
		return !found
	})
	return found
}

// at returns the place of a node, which may be new.
func (c *checker) at(n *node) *place {
	p := c.places[n.offset]
	if p == nil {
		p = &place{file: c.file, offset: n.offset, name: n.text}
		c.places[n.offset] = p
	}
	return p
}

// name records a name of uDAPL.
func (c *checker) name(n *node) {
	if n.kind == "field_identifier" {
		if entries := c.memberEntries(n); len(entries) > 0 {
			p := c.at(n)
			p.kind, p.golang, p.missing = guide.Member, entries[0].Go, entries[0].Missing()
			for _, e := range entries[1:] {
				if e.Go != entries[0].Go {
					p.golang += " (of " + e.C + ": " + e.Go + ")"
				}
				p.missing = p.missing && e.Missing()
			}
			p.recipes = c.guide.Recipes(n.text)
		} else if macro, ok := c.guide.Entries[n.text]; ok {
			p := c.at(n)
			p.kind, p.golang, p.missing = macro.Kind, macro.Go, macro.Missing()
		} else if base := c.typeOfBase(n); c.guide.Lacks(base, n.text) {
			p := c.at(n)
			p.unknown, p.golang = true, "not a member of "+base+" in uDAPL 2.0"
			if old := c.guide.Old(n.text); len(old) > 0 {
				p.golang = old[0]
			}
		}
		return
	}
	entry, known := c.guide.Entries[n.text]
	if !known && !c.foreign(n) || c.program.local(n) {
		return
	}
	p := c.at(n)
	p.call = entry.Kind == guide.Function && called(n)
	p.recipes = c.guide.Recipes(n.text)
	if !known {
		p.unknown, p.golang = true, "not a name of uDAPL 2.0: one of 1.x, or of a header of the program"
		if old := c.guide.Old(n.text); len(old) > 0 {
			p.golang, p.recipes = old[0], nil
		}
		return
	}
	p.kind, p.golang, p.missing = entry.Kind, entry.Go, entry.Missing()
}

// foreign reports whether a name that the guide does not know may be one of uDAPL 1.x: the program does not define it. Of
// names in small letters, only functions count.
func (c *checker) foreign(n *node) bool {
	return nameForm.MatchString(n.text) && !c.program.own[n.text] && !includeGuard(n) && (n.text[0] == 'D' || n.field == "function")
}

// local reports whether a name is that of a variable of the program.
func (p *program) local(n *node) bool {
	if n.kind != "identifier" {
		return false
	}
	_, ok := p.locals[n.within("function_definition")][n.text]
	return ok
}

// includeGuard reports whether a name is only defined, or asked for, by the preprocessor.
func includeGuard(n *node) bool {
	return n.parent != nil && strings.HasPrefix(n.parent.kind, "preproc_")
}

// called reports whether the name of a function is called, perhaps by a macro that gets it as an argument.
func called(n *node) bool {
	return n.parent != nil && (n.field == "function" && n.parent.kind == "call_expression" || n.parent.kind == "argument_list")
}

// memberEntries returns what Go has for a member: of the type of its structure if that is known. Else the name decides,
// if the program has no member of this name.
func (c *checker) memberEntries(field *node) (entries []guide.Entry) {
	types := c.guide.Members[field.text]
	if len(types) == 0 {
		return nil
	}
	base := c.typeOfBase(field)
	_, own := c.program.fields[field.text]
	for _, typ := range types {
		if typ == base {
			return []guide.Entry{c.guide.Entries[typ+"."+field.text]}
		}
		entries = append(entries, c.guide.Entries[typ+"."+field.text])
	}
	if known := base != "" && base != "?" && c.guide.Entries[base].Kind != guide.Type; known || field.parent.kind == "field_declaration" || field.within("field_declaration") != nil {
		return nil // a structure of the program
	}
	if base != "?" && (own || !strings.Contains(field.text, "_")) {
		return nil
	}
	return entries
}

// typeOfBase returns the type of the structure that a member is in, "" if it is not known, and "?" if it is one of uDAPL.
func (c *checker) typeOfBase(field *node) string {
	var base *node
	switch field.parent.kind {
	case "field_expression":
		base = field.parent.child("argument").unref()
	case "field_designator": // { .member = value } of a declared variable
		list := field.within("initializer_list")
		if list == nil {
			return ""
		}
		switch list.parent.kind {
		case "init_declarator":
			return typeText(list.parent.parent)
		case "compound_literal_expression":
			return typeText(list.parent.child("type"))
		}
		return ""
	default:
		return ""
	}
	if base == nil {
		return ""
	}
	return c.typeOf(base)
}

// unref returns an expression without parentheses, dereferences and subscripts. Casts stay.
func (n *node) unref() *node {
	for n != nil {
		switch n.kind {
		case "parenthesized_expression":
			if len(n.children) == 0 {
				return n
			}
			n = n.children[0]
		case "pointer_expression", "subscript_expression":
			n = n.child("argument")
		default:
			return n
		}
	}
	return n
}

// typeOf returns the type of an expression as far as the program's declarations and the names of members tell.
func (c *checker) typeOf(n *node) string {
	n = n.unref()
	if n == nil {
		return ""
	}
	if n.kind == "cast_expression" {
		return typeText(n.child("type"))
	}
	if n.kind == "field_expression" {
		field := n.child("field")
		if field == nil {
			return ""
		}
		if len(c.memberEntries(field)) > 0 {
			// Most members have the name of their type.
			for _, typ := range []string{"DAT_" + strings.ToUpper(field.text), memberTypes[field.text]} {
				if c.guide.Entries[typ].Kind == guide.Type {
					return typ
				}
			}
			return "?"
		}
	}
	d, _ := c.program.lookUp(n)
	return d.typ
}

// memberTypes are types of members that are called otherwise.
var memberTypes = map[string]string{
	"connect_event_data": "DAT_CONNECTION_EVENT_DATA",
	"user_cookie":        "DAT_DTO_COOKIE",
	"local_ia_address":   "DAT_IA_ADDRESS_PTR",
}
