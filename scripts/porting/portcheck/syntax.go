package main

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// node is a node of a syntax tree.
type node struct {
	kind, field string // field is the role in the parent
	text        string
	offset      int // in the file
	broken      bool
	parent      *node
	children    []*node // the named ones, and operators
}

// source is a parsed file.
type source struct {
	name  string
	text  []byte
	lines []int // the offset of each line
	root  *node
	// identifiers are the offsets of all identifiers of the text, outside comments and strings, with the names.
	identifiers map[int]string
	pasted      map[int]bool // those beside ##
}

// annotations are macros of the headers of DAT and popt, and of programs that follow them. They mean nothing, and no parser that
// does not know them gets past them.
var annotations = map[string]bool{"IN": true, "OUT": true, "INOUT": true, "DAT_API": true, "DT_API": true, "POPT_AUTOHELP": true, "POPT_TABLEEND": true}

// file parses the text of a file. The bodies of its macros are parsed, too: as statements, or expressions.
func (p parser) file(name string, text []byte) *source {
	s := &source{name: name, text: text, lines: []int{0}}
	for i, c := range text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	s.identifiers, s.pasted = identifiers(text)
	clean := bytes.Clone(text)
	for offset, name := range s.identifiers {
		if annotations[name] {
			copy(clean[offset:], strings.Repeat(" ", len(name)))
			delete(s.identifiers, offset)
		}
	}
	s.root = p.tree(clean, 0)
	s.root.walk(func(n *node) bool {
		if n.kind == "preproc_arg" {
			const before, after = "void macro(void) {", ";}"
			body := p.tree([]byte(before+n.text+after), n.offset-len(before))
			body.parent, n.children = n, []*node{body}
			return false
		}
		return true
	})
	return s
}

// walk visits the nodes below n, and n, as long as visit returns true for the parent.
func (n *node) walk(visit func(*node) bool) {
	if !visit(n) {
		return
	}
	for _, child := range n.children {
		child.walk(visit)
	}
}

// child returns the child with a role, or nil.
func (n *node) child(field string) *node {
	if n == nil {
		return nil
	}
	for _, child := range n.children {
		if child.field == field {
			return child
		}
	}
	return nil
}

// within returns the innermost node around n of one of the kinds, or nil.
func (n *node) within(kinds ...string) *node {
	for up := n.parent; up != nil; up = up.parent {
		if slices.Contains(kinds, up.kind) {
			return up
		}
	}
	return nil
}

// stripped returns an expression without parentheses and casts.
func (n *node) stripped() *node {
	for n != nil && (n.kind == "parenthesized_expression" || n.kind == "cast_expression") {
		inner := n.child("value")
		if n.kind == "parenthesized_expression" && len(n.children) > 0 {
			inner = n.children[0]
		}
		if inner == nil {
			break
		}
		n = inner
	}
	return n
}

// place returns file:line:column.
func (s *source) place(offset int) string {
	line := s.line(offset)
	return fmt.Sprintf("%s:%d:%d", s.name, line, offset-s.lines[line-1]+1)
}

func (s *source) line(offset int) int {
	return sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > offset })
}

// identifiers finds the identifiers outside comments, strings and names of headers.
func identifiers(text []byte) (names map[int]string, pasted map[int]bool) {
	names, pasted = map[int]string{}, map[int]bool{}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case bytes.HasPrefix(text[i:], []byte("/*")):
			i += endOf(text[i:], "*/", 2)
		case bytes.HasPrefix(text[i:], []byte("//")):
			i += endOf(text[i:], "\n", 2)
		case c == '"' || c == '\'':
			for i++; i < len(text) && text[i] != c && text[i] != '\n'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			i++
		case c >= '0' && c <= '9':
			for i++; i < len(text) && (letter(text[i]) || text[i] == '.'); i++ {
			}
		case letter(c):
			start := i
			for i++; i < len(text) && letter(text[i]); i++ {
			}
			names[start] = string(text[start:i])
			before, after := bytes.TrimRight(text[:start], " \t"), bytes.TrimLeft(text[i:], " \t")
			pasted[start] = bytes.HasSuffix(before, []byte("##")) || bytes.HasPrefix(after, []byte("##"))
			if names[start] == "include" && bytes.HasSuffix(before, []byte("#")) {
				i += endOf(text[i:], "\n", 0)
			}
		default:
			i++
		}
	}
	return names, pasted
}

func endOf(text []byte, end string, from int) int {
	if i := bytes.Index(text[from:], []byte(end)); i >= 0 {
		return from + i + len(end)
	}
	return len(text)
}

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
