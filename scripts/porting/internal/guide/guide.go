// Package guide has the tables of the porting pages: what Go has for each C name, and the recipes.
package guide

import (
	_ "embed"
	"path"
	"strings"
)

//go:generate go run ./generate

//go:embed guide.tsv
var tables string

// File is the porting guide.
const File = "docs/porting.md"

// Kinds of C names.
const (
	Function = "function"
	Type     = "type"
	Member   = "member" // its name is TYPE.member
	Constant = "constant"
)

const (
	section = "section"
	idiom   = "idiom"
	refused = "refused"
	old     = "1.x"
)

// Entry is what Go has for a C name.
type Entry struct {
	Kind, C, Go string
}

// Missing reports whether Go has nothing. Entry.Go says why.
func (e Entry) Missing() bool {
	return strings.HasPrefix(e.Go, "none")
}

// recipe is a row of one of the guide's tables.
type recipe struct {
	patterns []string // of C names, with *
	text     string
}

// Guide is what the pages say.
type Guide struct {
	Entries  map[string]Entry    // by C name; those of members by TYPE.member, also of members of unions inside the type
	Members  map[string][]string // the types that have a member
	inner    map[string]bool     // TYPE.member of the unions inside a type, and the types with members
	sections map[string]bool     // by anchor
	idioms   []recipe
	old      []recipe
	refused  []recipe
}

// Read returns the guide.
func Read() *Guide {
	g := &Guide{Entries: map[string]Entry{}, Members: map[string][]string{}, inner: map[string]bool{}, sections: map[string]bool{}}
	for _, line := range strings.Split(strings.TrimSuffix(tables, "\n"), "\n") {
		cells := strings.Split(line, "\t")
		switch kind := cells[0]; kind {
		case section:
			g.sections[cells[1]] = true
		case idiom:
			g.idioms = append(g.idioms, newRecipe(cells[1], cells[2]+" -> "+cells[3], cells[4]))
		case old:
			g.old = append(g.old, newRecipe(cells[1], "1.x: "+cells[2]+" -> 2.0: "+cells[3], cells[4]))
		case refused:
			g.refused = append(g.refused, newRecipe(cells[1], "Go refuses "+cells[2]+": "+cells[3], cells[5]))
		default:
			entry := Entry{Kind: kind, C: cells[1], Go: cells[2]}
			g.Entries[cells[1]] = entry
			if typ, member, ok := strings.Cut(cells[1], "."); ok {
				g.inner[typ] = true
				if union, _, ok := strings.Cut(member, "."); ok {
					g.inner[typ+"."+union] = true
				}
				member = member[strings.LastIndexByte(member, '.')+1:] // of a union inside
				g.Entries[typ+"."+member] = entry
				g.Members[member] = append(g.Members[member], typ)
			}
		}
	}
	return g
}

func newRecipe(patterns, text, note string) recipe {
	if note != "" {
		text += "; " + note
	}
	return recipe{strings.Fields(patterns), text}
}

// Lacks reports whether the pages have the members of a type, and not this one.
func (g *Guide) Lacks(typ, member string) bool {
	return g.inner[typ] && !g.inner[typ+"."+member] && g.Entries[typ+"."+member].C == ""
}

// HasSection reports whether the guide has a heading with this anchor.
func (g *Guide) HasSection(anchor string) bool { return g.sections[anchor] }

// Recipes returns the rows of the guide that name the C name, also as a member or in a pattern.
func (g *Guide) Recipes(name string) (texts []string) {
	for _, list := range [][]recipe{g.idioms, g.refused} {
		texts = append(texts, matching(list, name)...)
	}
	return texts
}

// Old returns the rows on names of uDAPL 1.x that name the C name.
func (g *Guide) Old(name string) []string { return matching(g.old, name) }

// matching compares in either case: no two names differ in that alone.
func matching(list []recipe, name string) (texts []string) {
	for _, r := range list {
		for _, pattern := range r.patterns {
			if fits, _ := path.Match(strings.ToLower(pattern), strings.ToLower(name)); fits {
				texts = append(texts, r.text)
				break
			}
		}
	}
	return texts
}
