// Package guide reads the porting pages of goudat: what Go has for each C name, and the recipes.
package guide

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
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

var errForm = errors.New("it has no rows of names, or of recipes: its form has changed")

// addNames takes what Go has for C names from the tables of a page: the names are in the first cell, Go's in the second.
func (g *Guide) addNames(page string) error {
	kind := ""
	before := len(g.Entries)
	for line := range strings.SplitSeq(page, "\n") {
		cells := cellsOf(line)
		if head := tableHead.FindStringSubmatch(line); head != nil {
			kind = map[string]string{"function": Function, "type": Type, "member": Member, "constant or macro": Constant}[head[1]]
		} else if len(cells) > 1 && kind != "" {
			for _, name := range cName.FindAllStringSubmatch(summary.ReplaceAllString(cells[0], ""), -1) {
				g.add(Entry{Kind: kind, C: name[1], Go: plain(cells[1])})
			}
		}
	}
	if len(g.Entries) == before {
		return errForm
	}
	return nil
}

func (g *Guide) add(entry Entry) {
	g.Entries[entry.C] = entry
	typ, member, ok := strings.Cut(entry.C, ".")
	if !ok {
		return
	}
	g.inner[typ] = true
	if union, _, ok := strings.Cut(member, "."); ok {
		g.inner[typ+"."+union] = true
	}
	member = member[strings.LastIndexByte(member, '.')+1:] // of a union inside
	g.Entries[typ+"."+member] = entry
	g.Members[member] = append(g.Members[member], typ)
}

// addRecipes takes the sections and the rows of three tables from the guide.
func (g *Guide) addRecipes(page string) error {
	in := ""
	for line := range strings.SplitSeq(page, "\n") {
		if title, ok := heading(line); ok {
			in = title
			g.sections[Anchor(title)] = true
			continue
		}
		cells := cellsOf(line)
		if len(cells) < 3 {
			continue
		}
		names := code(cells[0])
		if len(names) == 0 {
			continue
		}
		for i, cell := range cells {
			cells[i] = plain(cell)
		}
		switch in {
		case "Idioms":
			g.idioms = append(g.idioms, newRecipe(names, cells[0]+" -> "+cells[1], cells[2]))
		case "What C accepts and Go refuses":
			g.refused = append(g.refused, newRecipe(names, "Go refuses "+cells[0]+": "+cells[1], cells[3]))
		case "From uDAPL 1.x":
			g.old = append(g.old, newRecipe(names, "1.x: "+cells[0]+" -> 2.0: "+cells[1], cells[2]))
		}
	}
	if len(g.idioms) == 0 || len(g.refused) == 0 || len(g.old) == 0 {
		return errForm
	}
	return nil
}

var (
	tableHead = regexp.MustCompile(`^\| C (function|type|member|constant or macro) \| `)
	summary   = regexp.MustCompile(`<summary>.*?</summary>`) // the first and the last name of a long list
	cName     = regexp.MustCompile("(?:`|<code>)([A-Za-z_][\\w.]*)")
	codeName  = regexp.MustCompile(`[A-Za-z_]\w*\*?`)
	markup    = regexp.MustCompile(`</?(?:details|summary|code)>`)
	inCode    = regexp.MustCompile("`([^`]*)`")
	pageLink  = regexp.MustCompile(`\[([^\]]*)\]\(#([^)]*)\)`)
	otherLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	// notAnchor is what a heading loses in its anchor.
	notAnchor = regexp.MustCompile(`[^\w\- ]`)
)

// cellsOf returns the cells of a row of a table.
func cellsOf(line string) []string {
	line, ok := strings.CutPrefix(line, "|")
	if !ok {
		return nil
	}
	cells := strings.Split(strings.TrimSuffix(line, "|"), " | ")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(cell)
	}
	return cells
}

func heading(line string) (title string, ok bool) {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level < 2 {
		return "", false
	}
	return strings.CutPrefix(line[level:], " ")
}

// Anchor returns the anchor of a heading, as GitHub makes it.
func Anchor(title string) string {
	return strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// plain takes the markup out of a cell.
func plain(cell string) string {
	cell = strings.ReplaceAll(markup.ReplaceAllString(cell, ""), "<br>", "; ")
	cell = pageLink.ReplaceAllString(cell, "$1, see "+File+"#$2")
	return strings.ReplaceAll(otherLink.ReplaceAllString(cell, "$1"), "`", "")
}

// code returns the names of uDAPL in the code of a cell.
func code(cell string) (names []string) {
	for _, match := range inCode.FindAllStringSubmatch(cell, -1) {
		for _, name := range codeName.FindAllString(match[1], -1) {
			if strings.Contains(name, "_") {
				names = append(names, name)
			}
		}
	}
	return names
}
