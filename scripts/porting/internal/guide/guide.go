// Package guide reads the porting pages of goudat: what Go has for each C name, and the recipes.
package guide

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// File is the porting guide.
const File = "docs/porting.md"

// Kinds of C names.
const (
	Function = "function"
	Type     = "type"
	Member   = "member" // its name is TYPE.member
	Constant = "constant"
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
	Folder   string              // goudat's
	Entries  map[string]Entry    // by C name; those of members by TYPE.member, also of members of unions inside the type
	Members  map[string][]string // the types that have a member
	inner    map[string]bool     // TYPE.member of the unions inside a type, and the types with members
	sections map[string]bool     // by anchor
	idioms   []recipe
	old      []recipe
	refused  []recipe
}

// Read returns the guide. The pages are those of the clone of goudat that the current folder is in, or else of the goudat that the module
// there requires.
func Read() (*Guide, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for ; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(File))); err == nil {
			break
		}
		if folder == filepath.Dir(folder) {
			out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/goudat/goudat").Output()
			if folder = strings.TrimSpace(string(out)); err != nil || folder == "" {
				return nil, errors.New("the porting pages are not found: run this in goudat's folder, or in a module that requires goudat")
			}
			break
		}
	}
	g := &Guide{Folder: folder, Entries: map[string]Entry{}, Members: map[string][]string{}, inner: map[string]bool{}, sections: map[string]bool{}}
	for name, read := range map[string]func(string) error{
		"docs/reference/api-status.md":    g.addNames,
		"docs/reference/porting-table.md": g.addNames,
		File:                              g.addRecipes,
	} {
		page, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err == nil {
			err = read(string(page))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return g, nil
}

func newRecipe(patterns []string, text, note string) recipe {
	if note != "" {
		text += "; " + note
	}
	return recipe{patterns, text}
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
