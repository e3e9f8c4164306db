package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// counterparts are the Go equivalents of the types, members and constants of the native API.
type counterparts struct {
	types     []counterpart
	members   []counterpart // their names are TYPE.member
	constants []counterpart // those of enums, macros with and without parameters
	problems  []string
}

// counterpart is the Go equivalent of a C name.
type counterpart struct {
	c      string
	group  string   // the type of a member or a constant, "" for a macro
	golang []string // names in udat, without the package
	answer *answer  // if there are none
}

// answer says what to do where a C name has no Go name of its own.
type answer struct {
	names string // patterns with *, of TYPE, TYPE.member or CONSTANT, separated by spaces
	text  string // Go names stand in [[ ]]
}

func (a *answer) covers(name string) bool { return longestPattern(a.names, name) > 0 }

// longestPattern returns the length of the longest pattern that matches the name, 0 if none does. Patterns are
// separated by spaces; a * matches anything.
func longestPattern(patterns, name string) (length int) {
	for _, pattern := range strings.Fields(patterns) {
		if len(pattern) <= length {
			continue
		}
		if fits, _ := path.Match(pattern, name); fits { // no name of C has a slash
			length = len(pattern)
		}
	}
	return length
}

var goNameInAnswer = regexp.MustCompile(`\[\[([\w.]+)\]\]`)

// matcher finds counterparts.
type matcher struct {
	*counterparts
	raw, udat *goNames
	answers   []answer
	used      []bool
}

// findCounterparts matches names with the Go sources first, and then with the answers.
func findCounterparts(d *cDeclarations, raw, udat *goNames, answers []answer) *counterparts {
	m := &matcher{counterparts: &counterparts{}, raw: raw, udat: udat, answers: answers, used: make([]bool, len(answers))}
	aliases := map[string]string{}
	for _, c := range d.constants {
		aliases[c.name] = c.alias
	}
	for _, t := range d.types {
		golang := m.typeName(t.name)
		own := m.add(&m.types, t.name, "", golang)
		for _, constant := range t.constants {
			m.addConstant(constant, t.name, aliases)
		}
		if own.answer != nil && strings.HasPrefix(own.answer.text, "none") {
			continue // and its members have no names either
		}
		for _, member := range t.members {
			m.add(&m.members, t.name+"."+member, t.name, m.memberName(t.name, golang, member))
		}
	}
	for _, c := range d.constants {
		m.addConstant(c.name, "", aliases)
	}
	for _, name := range d.macros {
		m.add(&m.constants, name, "", nil)
	}
	m.judgeAnswers()
	return m.counterparts
}

func (m *matcher) addConstant(name, group string, aliases map[string]string) {
	for other := name; other != ""; other = aliases[other] {
		if golang := m.udat.constants[other]; len(golang) > 0 {
			m.add(&m.constants, name, group, golang)
			return
		}
	}
	m.add(&m.constants, name, group, nil)
}

// add records a counterpart. It complains when there is neither a name nor an answer.
func (m *matcher) add(list *[]counterpart, c, group string, golang []string) counterpart {
	own := counterpart{c: c, group: group, golang: golang}
	if len(golang) == 0 {
		i := slices.IndexFunc(m.answers, func(a answer) bool { return a.covers(c) })
		if i < 0 {
			m.complain("%s: udat has nothing of this name, and scripts/apistatus/answers.go does not say why", c)
			own.answer = &answer{text: none}
		} else {
			own.answer, m.used[i] = &m.answers[i], true
		}
	}
	*list = append(*list, own)
	return own
}

func (m *matcher) complain(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

// judgeAnswers complains about answers for no name, and about answers that name something that does not exist.
func (m *matcher) judgeAnswers() {
	for i, a := range m.answers {
		if !m.used[i] {
			m.complain("scripts/apistatus/answers.go: the answer for %s is not needed: take it out", a.names)
		}
		for _, match := range goNameInAnswer.FindAllStringSubmatch(a.text, -1) {
			if !m.udat.has(match[1]) {
				m.complain("scripts/apistatus/answers.go: the answer for %s names udat.%s, which does not exist", a.names, match[1])
			}
		}
	}
}

var (
	cHandle    = regexp.MustCompile(`^DAT_([A-Z]+)_HANDLE$`)
	cTypeInDoc = regexp.MustCompile(`\bDAT_\w+\b`)
)

// typeName returns the type of udat for a C type: the object for a handle, else the type with the same name as the type
// of cgo whose comment names the C type.
func (m *matcher) typeName(c string) []string {
	if h := cHandle.FindStringSubmatch(c); h != nil && m.udat.types[h[1]] != nil {
		return []string{"*" + h[1]}
	}
	for _, name := range sortedKeys(m.raw.types) {
		if cTypeInDoc.FindString(m.raw.types[name].doc) != c {
			continue
		}
		for _, own := range sortedKeys(m.udat.types) {
			if alias := m.udat.types[own].alias; alias == name || own == name && alias == "" {
				return []string{own}
			}
		}
	}
	return nil
}

// memberName returns Type.Field. The fields of cgo have the C names beside them; the fields of udat are found by name.
// It returns "" if the C type has no Go type.
func (m *matcher) memberName(cType string, golang []string, member string) []string {
	if len(golang) == 0 {
		return nil
	}
	goType := golang[0]
	t := m.udat.types[goType]
	if t.alias != "" {
		if field := m.raw.fields[t.alias][member]; field != "" {
			return []string{goType + "." + field}
		}
		t = m.raw.types[t.alias]
	}
	for _, candidate := range spellings(cType, member) {
		for _, field := range t.fields {
			if strings.EqualFold(field, candidate) {
				return []string{goType + "." + field}
			}
		}
	}
	return nil
}

// spellings returns the names that a member may have in Go, in either case: handles and pointers without their kind,
// and without the name of the type's object.
func spellings(cType, member string) (names []string) {
	words := strings.Split(member, "_")
	if last := words[len(words)-1]; len(words) > 1 && (last == "handle" || last == "ptr") {
		words = words[:len(words)-1]
	}
	names = append(names, strings.Join(words, ""))
	object := strings.ToLower(strings.Split(cType, "_")[1])
	for _, prefix := range []string{object, "ia", "dat", "is", "dapl"} {
		if i := slices.Index(words, prefix); i >= 0 && len(words) > 1 {
			names = append(names, strings.Join(slices.Concat(words[:i], words[i+1:]), ""))
		}
	}
	return names
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
