package guide

import (
	"errors"
	"regexp"
	"strings"
)

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
