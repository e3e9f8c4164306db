package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// param is a parameter of a C function: its direction (IN, OUT or INOUT) and the tokens of its type, without its name.
type param struct {
	direction, typ string
}

// prototype declares a C function that returns DAT_RETURN.
type prototype struct {
	name   string
	params []param
	inline bool // has a body
}

// difference says how p differs from the header's prototype. It returns "" if they are equal, or if p refers to one that is
// written out elsewhere.
func (p prototype) difference(header prototype) string {
	if len(p.params) == 1 && p.params[0] == (param{typ: "..."}) {
		return ""
	}
	if len(p.params) != len(header.params) {
		return fmt.Sprintf("has %d parameters, the header has %d", len(p.params), len(header.params))
	}
	for i, have := range p.params {
		if want := header.params[i]; have != want {
			return fmt.Sprintf("parameter %d is %s %s, the header has %s %s", i+1, have.direction, have.typ, want.direction, want.typ)
		}
	}
	return ""
}

var (
	comment      = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	continuation = regexp.MustCompile(`\\\r?\n`)
	directive    = regexp.MustCompile(`(?m)^[ \t]*#.*$`)
	define       = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)`)
	cToken       = regexp.MustCompile(`\w+|\.\.\.|"[^"\n]*"|\S`)
	identifier   = regexp.MustCompile(`^[A-Za-z_]\w*$`)
)

// parseHeader returns the prototypes and the names of the macros of a C header. It understands only the C that these headers
// use: no comment starts within a string.
func parseHeader(source string) (prototypes []prototype, macros []string) {
	source = continuation.ReplaceAllString(comment.ReplaceAllString(source, " "), " ")
	for _, m := range define.FindAllStringSubmatch(source, -1) {
		macros = append(macros, m[1])
	}
	return parsePrototypes(directive.ReplaceAllString(source, "")), macros
}

// parsePrototypes finds all prototypes in a text without comments.
func parsePrototypes(text string) (prototypes []prototype) {
	tokens := cToken.FindAllString(text, -1)
	for i, token := range tokens {
		if token != "DAT_RETURN" {
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
func parseParam(tokens []string) (p param) {
	if slices.Contains([]string{"IN", "OUT", "INOUT"}, tokens[0]) {
		p.direction, tokens = tokens[0], tokens[1:]
	}
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
