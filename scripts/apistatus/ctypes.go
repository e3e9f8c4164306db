package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// cType is a type of the native API.
type cType struct {
	name      string
	constants []string // of an enum
	members   []string // of a struct or a union; inner ones as outer.inner
	tag       string   // of an enum, struct or union whose body is elsewhere
}

// cConstant is a macro without parameters. alias is its body if that is one name.
type cConstant struct{ name, alias string }

// cDeclarations are the types and constants that the headers declare, in their order.
type cDeclarations struct {
	types     []*cType
	constants []cConstant // that are macros
	macros    []string    // with parameters
}

// declarations reads the preprocessed headers: what is compiled for this platform, with the extensions.
func (tc toolchain) declarations() (*cDeclarations, error) {
	out, err := tc.preprocess("-E", "-dD")
	if err != nil {
		return nil, err
	}
	return parseDeclarations(out), nil
}

var (
	lineMarker = regexp.MustCompile(`^# \d+ "([^"]*)"`)
	publicName = regexp.MustCompile(`^(DAT|DCNT)_\w+$`)
	// Former names of members.
	formerMember = regexp.MustCompile(`^max_\w+$`)
)

// ofAPI reports whether a header is for programs. The headers named redirection have the tables through which the
// library calls the providers.
func ofAPI(header string) bool {
	return path.Base(path.Dir(header)) == "dat2" && !strings.Contains(path.Base(header), "redirection")
}

func parseDeclarations(preprocessed string) *cDeclarations {
	d := &cDeclarations{}
	var header string
	code := map[string]*strings.Builder{}
	var order []string
	for _, line := range strings.Split(preprocessed, "\n") {
		if m := lineMarker.FindStringSubmatch(line); m != nil {
			header = m[1]
			continue
		}
		if !ofAPI(header) {
			continue
		}
		if strings.HasPrefix(line, "#") {
			d.addMacro(line)
			continue
		}
		if code[header] == nil {
			code[header] = &strings.Builder{}
			order = append(order, header)
		}
		code[header].WriteString(line + "\n")
	}
	bodies := map[string]*cType{}
	for _, header := range order {
		d.parse(cToken.FindAllString(code[header].String(), -1), bodies)
	}
	for _, t := range d.types {
		if body := bodies[t.tag]; body != nil {
			t.constants, t.members = body.constants, body.members
		}
	}
	return d
}

func (d *cDeclarations) addMacro(line string) {
	m := define.FindStringSubmatch(line)
	if m == nil {
		return
	}
	name, body := m[1], strings.TrimSpace(m[3])
	switch {
	case strings.Contains(line, name+"("):
		if publicName.MatchString(name) {
			d.macros = append(d.macros, name)
		}
	case body == "" || !publicName.MatchString(name) && !formerMember.MatchString(name):
	case identifier.MatchString(body):
		d.constants = append(d.constants, cConstant{name, body})
	default:
		d.constants = append(d.constants, cConstant{name: name})
	}
}

// parse finds the types among the declarations of a header. It adds bodies that only have a tag to bodies.
func (d *cDeclarations) parse(tokens []string, bodies map[string]*cType) {
	for len(tokens) > 0 {
		var declaration []string
		declaration, tokens = cutDeclaration(tokens)
		typedef := len(declaration) > 0 && declaration[0] == "typedef"
		if typedef {
			declaration = declaration[1:]
		}
		t, rest := parseBody(declaration)
		switch {
		case typedef:
			t.name = declaredName(rest)
			d.types = append(d.types, t)
			if t.tag != "" && (t.constants != nil || t.members != nil) {
				bodies[t.tag] = t
			}
		case t.constants != nil || t.members != nil:
			bodies[t.tag] = t
		}
	}
}

// cutDeclaration splits off one declaration: the tokens up to its semicolon, or a whole function with its body.
func cutDeclaration(tokens []string) (declaration, rest []string) {
	depth, parameters := 0, false
	for i, token := range tokens {
		switch token {
		case "(":
			parameters = parameters || depth == 0
			depth++
		case "{", "[":
			depth++
		case ")", "]":
			depth--
		case "}":
			if depth--; depth == 0 && parameters && tokens[0] != "typedef" {
				return tokens[:i+1], tokens[i+1:]
			}
		case ";":
			if depth == 0 {
				return tokens[:i], tokens[i+1:]
			}
		}
	}
	return tokens, nil
}

// parseBody splits an enum, struct or union off the front of a declaration. It takes nothing else.
func parseBody(declaration []string) (t *cType, rest []string) {
	t = &cType{}
	if len(declaration) < 2 || !slices.Contains([]string{"enum", "struct", "union"}, declaration[0]) {
		return t, declaration
	}
	kind := declaration[0]
	rest = declaration[1:]
	if identifier.MatchString(rest[0]) {
		t.tag, rest = kind+" "+rest[0], rest[1:]
	}
	if len(rest) == 0 || rest[0] != "{" {
		return t, rest
	}
	end := closing(rest)
	body := rest[1:end]
	if kind == "enum" {
		for i, token := range body {
			if i == 0 || body[i-1] == "," {
				t.constants = append(t.constants, token)
			}
		}
	} else {
		t.members = parseMembers(body)
	}
	return t, rest[end+1:]
}

// closing returns the index of the brace that matches the first token.
func closing(tokens []string) int {
	depth := 0
	for i, token := range tokens {
		switch token {
		case "{":
			depth++
		case "}":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(tokens) - 1
}

func parseMembers(body []string) (names []string) {
	for len(body) > 0 {
		var member []string
		member, body = cutDeclaration(body)
		inner, rest := parseBody(member)
		name := declaredName(rest)
		if inner.members == nil {
			names = append(names, name)
			continue
		}
		for _, n := range inner.members {
			if name != "" {
				n = name + "." + n
			}
			names = append(names, n)
		}
	}
	return names
}

// declaredName returns the name in a declarator. The name of a pointer to a function or an array is in parentheses; any
// other is at the end, or before the dimensions.
func declaredName(declarator []string) string {
	for i := range len(declarator) - 1 {
		if declarator[i] == "(" && slices.Contains(declarator[i:min(i+3, len(declarator))], "*") {
			return declarator[slices.Index(declarator, "*")+1]
		}
	}
	name := ""
	for _, token := range declarator {
		if token == "[" {
			break
		}
		if identifier.MatchString(token) {
			name = token
		}
	}
	return name
}
