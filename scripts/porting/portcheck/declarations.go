package main

import "strings"

// declared is what a declaration says of a name.
type declared struct {
	typ      string // the name of the type: DAT_EP_HANDLE, struct tags without struct
	pointer  bool   // or an array
	volatile bool
}

// program is what the files of a program declare. C's scopes are reduced to two: a function, and everything else.
type program struct {
	globals map[string]declared
	fields  map[string]declared // of the program's own structures, by name
	clashes map[string]bool     // fields that structures declare with different types
	locals  map[*node]map[string]declared
	own     map[string]bool // names of functions, macros, types and constants that the program defines
}

func newProgram(files []*source) *program {
	p := &program{
		globals: map[string]declared{}, fields: map[string]declared{}, clashes: map[string]bool{},
		locals: map[*node]map[string]declared{}, own: map[string]bool{},
	}
	for _, s := range files {
		s.root.walk(func(n *node) bool { p.add(n); return true })
	}
	return p
}

func (p *program) add(n *node) {
	switch n.kind {
	case "declaration", "parameter_declaration", "field_declaration":
		d := declared{typ: typeText(n), volatile: hasQualifier(n, "volatile")}
		for _, declarator := range n.children {
			if declarator.field != "declarator" {
				continue
			}
			name, pointer, function := unwrap(declarator)
			if name == nil {
				continue
			}
			if function {
				if n.kind == "declaration" && n.within("function_definition") == nil {
					p.own[name.text] = true
				}
				continue
			}
			d.pointer = pointer
			switch owner := n.within("function_definition"); {
			case n.kind == "field_declaration":
				if before, ok := p.fields[name.text]; ok && before != d {
					p.clashes[name.text] = true
				}
				p.fields[name.text] = d
			case owner != nil:
				if p.locals[owner] == nil {
					p.locals[owner] = map[string]declared{}
				}
				if before, ok := p.locals[owner][name.text]; ok && before.typ != d.typ {
					d.typ = "" // in two blocks of the function
				}
				p.locals[owner][name.text] = d
			case n.kind == "declaration":
				p.globals[name.text] = d
				p.own[name.text] = true
			}
		}
	case "function_definition":
		if name, _, _ := unwrap(n.child("declarator")); name != nil {
			p.own[name.text] = true
		}
	case "type_definition":
		for _, declarator := range n.children {
			if declarator.field == "declarator" {
				if name, _, _ := unwrap(declarator); name != nil {
					p.own[name.text] = true
				}
			}
		}
	case "enumerator", "preproc_def", "preproc_function_def", "struct_specifier", "union_specifier", "enum_specifier":
		if name := n.child("name"); name != nil && (n.child("body") != nil || n.kind[0] == 'p' || n.kind == "enumerator") {
			p.own[name.text] = true
		}
	}
}

// unwrap returns the name in a declarator, and whether it is that of a pointer or array, or of a function.
func unwrap(declarator *node) (name *node, pointer, function bool) {
	for n := declarator; n != nil; {
		switch n.kind {
		case "identifier", "field_identifier", "type_identifier":
			return n, pointer, function
		case "pointer_declarator", "array_declarator":
			pointer = true
		case "function_declarator":
			// A pointer to a function is a variable.
			function = n.child("declarator") == nil || n.child("declarator").kind != "parenthesized_declarator"
		}
		next := n.child("declarator")
		if next == nil && n.kind == "parenthesized_declarator" && len(n.children) > 0 {
			next = n.children[len(n.children)-1]
		}
		n = next
	}
	return nil, false, false
}

func typeText(n *node) string {
	t := n.child("type")
	if t == nil {
		return ""
	}
	if name := t.child("name"); name != nil {
		return name.text
	}
	return t.text
}

func hasQualifier(n *node, qualifier string) bool {
	for _, child := range n.children {
		if child.kind == "type_qualifier" && child.text == qualifier {
			return true
		}
	}
	return false
}

// lookUp returns what is declared of the variable or member that an expression names.
func (p *program) lookUp(expression *node) (d declared, ok bool) {
	switch n := expression.stripped(); n.kind {
	case "identifier":
		if owner := n.within("function_definition"); owner != nil {
			if d, ok = p.locals[owner][n.text]; ok {
				return d, true
			}
		}
		d, ok = p.globals[n.text]
		return d, ok
	case "field_expression":
		field := n.child("field")
		if field == nil || p.clashes[field.text] {
			return declared{}, false
		}
		d, ok = p.fields[field.text]
		return d, ok
	case "subscript_expression", "pointer_expression":
		if inner := n.child("argument"); inner != nil {
			d, ok = p.lookUp(inner)
			d.pointer = n.kind == "pointer_expression" && strings.HasPrefix(n.text, "&")
			return d, ok
		}
	}
	return declared{}, false
}

// lastName returns the name of a variable or member, without what it is a member or an element of.
func lastName(expression *node) string {
	for n := expression.stripped(); n != nil; n = n.stripped() {
		switch n.kind {
		case "identifier":
			return n.text
		case "field_expression":
			return n.child("field").text
		case "subscript_expression", "pointer_expression":
			n = n.child("argument")
		default:
			return ""
		}
		if n == nil {
			return ""
		}
	}
	return ""
}
