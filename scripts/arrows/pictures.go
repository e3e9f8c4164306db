package arrows

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Page is the page with the pictures.
const Page = "docs/architecture.md"

// region is a place for a picture: of the rooms, or of the walk from a function of udat.
var region = regexp.MustCompile(`(?s)(<!-- picture: ([^\n]*?) -->\n).*?(<!-- end -->\n)`)

// Draw returns the text of a page with up-to-date pictures.
func Draw(root, text string) (drawn string, err error) {
	udat, err := Read(root, "udat")
	if err != nil {
		return "", err
	}
	drawn = region.ReplaceAllStringFunc(text, func(old string) string {
		match := region.FindStringSubmatch(old)
		picture, failed := "", error(nil)
		if match[2] == "rooms" {
			picture, failed = rooms(root)
		} else {
			picture, failed = udat.walk(match[2])
		}
		if failed != nil {
			err = failed
		}
		return match[1] + "\n```mermaid\n" + picture + "```\n\n" + match[3]
	})
	return drawn, err
}

// rooms draws the packages of the binding, with what they import. What a package below imports, too, is left out.
func rooms(root string) (string, error) {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	packages, imports := map[string]*Package{}, Graph{}
	todo := []string{"udat/mem", "udat/stream", "udat/udattest"}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if packages[name] != nil {
			continue
		}
		p, err := Read(root, name)
		if err != nil {
			return "", err
		}
		packages[name], imports[name] = p, p.Imports
		todo = append(todo, p.Imports...)
		lines := p.Lines
		if name == "include/goudat" {
			headers, err := filepath.Glob(filepath.Join(root, name, "*.h"))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "    %s[\"%s<br>%d headers\"]\n", id(name), name, len(headers))
		} else {
			fmt.Fprintf(&b, "    %s[\"%s<br>%d lines\"]\n", id(name), name, max(50, (lines+25)/50*50))
		}
	}
	for _, from := range sorted(imports) {
		for _, to := range imports[from] {
			if !slices.ContainsFunc(imports[from], func(other string) bool { return other != to && slices.Contains(imports.From(other), to) }) {
				fmt.Fprintf(&b, "    %s --> %s\n", id(from), id(to))
			}
		}
	}
	return b.String(), nil
}

// walk draws the files that a call comes through, each with the function by which it comes there first.
func (p *Package) walk(from string) (string, error) {
	if p.FileOf[from] == "" {
		return "", fmt.Errorf("there is no function %s", from)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "flowchart LR\n    start([\"%s\"]) --> %s\n", short(from), p.FileOf[from])
	seen := map[string]bool{p.FileOf[from]: true}
	for _, function := range p.Functions.From(from) {
		for _, to := range p.Functions[function] {
			if file := p.FileOf[to]; file != "" && !seen[file] {
				seen[file] = true
				fmt.Fprintf(&b, "    %s -->|%s| %s\n", p.FileOf[function], short(to), file)
			}
		}
	}
	return b.String(), nil
}

// short takes the receiver's brackets out of a function's name.
func short(function string) string {
	return strings.NewReplacer("(*", "", "(", "", ")", "", "[T]", "").Replace(function)
}

func id(name string) string { return strings.ReplaceAll(name, "/", "_") }

func sorted(g Graph) (names []string) {
	for name := range g {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
