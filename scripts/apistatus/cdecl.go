package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// param is a parameter of a C function: its direction (IN, OUT or INOUT) and the tokens of its type, without its name.
// Either is empty if unknown.
type param struct {
	direction, typ string
}

func (p param) String() string { return strings.TrimSpace(p.direction + " " + p.typ) }

// prototype declares a C function that returns DAT_RETURN.
type prototype struct {
	name   string
	params []param
	inline bool // has a body
}

// reference reports whether the prototype refers to one that is written out elsewhere.
func (p prototype) reference() bool {
	return len(p.params) == 1 && p.params[0] == param{typ: "..."}
}

// difference says how p differs from the header's prototype. It returns "" if they are equal.
func (p prototype) difference(header prototype) string {
	if p.reference() {
		return ""
	}
	if len(p.params) != len(header.params) {
		return fmt.Sprintf("has %d parameters, the header has %d", len(p.params), len(header.params))
	}
	for i, have := range p.params {
		want := header.params[i]
		if want.direction != "" && have.direction != want.direction || want.typ != "" && have.typ != want.typ {
			return fmt.Sprintf("parameter %d is %v, the header has %v", i+1, have, want)
		}
	}
	return ""
}

// macro is a C macro with arguments, or one without whose body is one name.
type macro struct {
	name   string
	params []string
	alias  bool
	callee string
	args   [][]string // of the call in the body
}

var (
	comment      = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	continuation = regexp.MustCompile(`\\\r?\n`)
	directive    = regexp.MustCompile(`(?m)^[ \t]*#.*$`)
	define       = regexp.MustCompile(`^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^)]*)\))?[ \t]*(.*)$`)
	cToken       = regexp.MustCompile(`\w+|\.\.\.|"[^"\n]*"|\S`)
	identifier   = regexp.MustCompile(`^[A-Za-z_]\w*$`)
)

// parseHeader returns the prototypes and the macros of a C header. It understands only the C that these headers use: no
// comment starts within a string.
func parseHeader(source string) (prototypes []prototype, macros []macro) {
	source = continuation.ReplaceAllString(comment.ReplaceAllString(source, " "), " ")
	for _, line := range directive.FindAllString(source, -1) {
		if m := define.FindStringSubmatch(line); m != nil {
			if parsed, ok := parseMacro(m[1], m[2], cToken.FindAllString(m[3], -1)); ok {
				macros = append(macros, parsed)
			}
		}
	}
	return parsePrototypes(directive.ReplaceAllString(source, "")), macros
}

// parsePrototypes finds all prototypes in a text without comments.
func parsePrototypes(text string) (prototypes []prototype) {
	tokens := cToken.FindAllString(text, -1)
	for i := 0; i < len(tokens); i++ {
		if tokens[i] != "DAT_RETURN" {
			continue
		}
		rest := tokens[i+1:]
		if len(rest) > 0 && rest[0] == "DAT_API" {
			rest = rest[1:]
		}
		if len(rest) < 2 || !identifier.MatchString(rest[0]) || rest[1] != "(" {
			continue
		}
		args, after := arguments(rest[1:])
		p := prototype{name: rest[0], inline: len(after) > 0 && after[0] == "{"}
		for _, arg := range args {
			p.params = append(p.params, parseParam(arg))
		}
		prototypes = append(prototypes, p)
	}
	return prototypes
}

// arguments splits the text between the first parenthesis and the matching one, and returns the rest. A missing closing
// parenthesis counts as the end.
func arguments(tokens []string) (args [][]string, after []string) {
	depth, start := 0, 1
	for i, token := range tokens {
		switch token {
		case "(", "[":
			depth++
		case ")", "]":
			if depth--; depth == 0 {
				if i > start {
					args = append(args, tokens[start:i])
				}
				return args, tokens[i+1:]
			}
		case ",":
			if depth == 1 {
				args = append(args, tokens[start:i])
				start = i + 1
			}
		}
	}
	return append(args, tokens[start:]), nil
}

// parseParam drops the name: the second word that is not a qualifier.
func parseParam(tokens []string) param {
	var p param
	p.direction, tokens = cutDirection(tokens)
	var typ []string
	base := false
	for _, token := range tokens {
		word := identifier.MatchString(token) && !slices.Contains([]string{"const", "struct", "enum", "unsigned"}, token)
		if word && base {
			continue
		}
		base = base || word
		typ = append(typ, token)
	}
	p.typ = strings.Join(typ, " ")
	return p
}

func cutDirection(tokens []string) (direction string, rest []string) {
	if len(tokens) > 0 && slices.Contains([]string{"IN", "OUT", "INOUT"}, tokens[0]) {
		return tokens[0], tokens[1:]
	}
	return "", tokens
}

// parseMacro parses a macro that calls a function or is another name of one.
func parseMacro(name, params string, body []string) (macro, bool) {
	m := macro{name: name}
	if len(body) == 0 || !identifier.MatchString(body[0]) {
		return m, false
	}
	m.callee = body[0]
	if len(body) == 1 {
		m.alias = true
		return m, params == ""
	}
	if body[1] != "(" {
		return m, false
	}
	for _, p := range strings.Split(params, ",") {
		m.params = append(m.params, strings.TrimSpace(p))
	}
	m.args, _ = arguments(body[1:])
	return m, true
}

// prototype returns what the macro would be declared as if it were a function,
// from the casts in its body and from the function that it calls.
func (m macro) prototype(callee prototype) prototype {
	p := prototype{name: m.name}
	if m.alias {
		p.params = callee.params
		return p
	}
	for _, name := range m.params {
		var found param
		for i, arg := range m.args {
			if !slices.Contains(arg, name) {
				continue
			}
			var rest []string
			found.direction, rest = cutDirection(arg)
			if len(rest) > 0 && rest[0] == "(" {
				if cast, after := arguments(rest); len(after) > 0 && len(cast) == 1 {
					found.typ = parseParam(cast[0]).typ
				}
			}
			if found == (param{}) && i < len(callee.params) {
				found = callee.params[i]
			}
			break
		}
		p.params = append(p.params, found)
	}
	return p
}
