package guide

import (
	"fmt"
	"regexp"
	"strings"
)

// FromPages makes the table of this package from docs/reference/porting-table.md and docs/porting.md. Each line is a kind and its
// cells, separated by tabs.
func FromPages(table, guide string) (string, error) {
	var lines []string
	add := func(cells ...string) { lines = append(lines, strings.Join(cells, "\t")) }
	kind := ""
	for _, line := range strings.Split(table, "\n") {
		if head := tableHead.FindStringSubmatch(line); head != nil {
			kind = map[string]string{"function": Function, "type": Type, "member": Member, "constant or macro": Constant}[head[1]]
			continue
		}
		if cells := cellsOf(line); kind != "" && len(cells) > 1 && !strings.HasPrefix(cells[0], "---") {
			for _, name := range cName.FindAllStringSubmatch(summary.ReplaceAllString(cells[0], ""), -1) {
				add(kind, name[1], plain(strings.Join(cells[1:], " | ")))
			}
		} else if len(cells) == 0 {
			kind = ""
		}
	}
	in := ""
	for _, line := range strings.Split(guide, "\n") {
		if title, ok := heading(line); ok {
			in = title
			add(section, Anchor(title), title)
			continue
		}
		cells := cellsOf(line)
		if len(cells) < 3 || strings.HasPrefix(cells[0], "---") || cells[0] == "in C" || cells[0] == "1.x" || cells[0] == "C accepts" {
			continue
		}
		var kind string
		switch in {
		case "Idioms":
			kind = idiom
		case "What C accepts and Go refuses":
			kind = refused
		case "From uDAPL 1.x":
			kind = old
		default:
			continue
		}
		row := []string{kind, strings.Join(code(cells[0]), " ")}
		for _, cell := range cells {
			row = append(row, plain(cell))
		}
		add(row...)
	}
	for _, kind := range []string{Function, Type, Member, Constant, section, idiom, refused, old} {
		if !strings.Contains("\n"+strings.Join(lines, "\n"), "\n"+kind+"\t") {
			return "", fmt.Errorf("the pages have no row of the kind %q: their form has changed", kind)
		}
	}
	return strings.Join(lines, "\n") + "\n", nil
}

var (
	tableHead = regexp.MustCompile(`^\| C (function|type|member|constant or macro) \| Go \|$`)
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
