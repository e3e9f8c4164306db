package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	guideFile = "examples/deposit/side-by-side.md"
	cFolder   = "examples/deposit/c"
	goFolder  = "examples/deposit"
)

// program is a program whose lines are marked as steps. A step goes from a
// comment "step: name" to the next one or to the end of the file.
type program struct {
	language string
	steps    map[string]string
	order    []string
	heads    string // the lines before the first step of a file
}

var stepMark = regexp.MustCompile(`(?m)^(?:// step: (.*)|/\* step: (.*) \*/)\n`)

// readProgram reads the files of one language in a folder, without tests.
func (m *module) readProgram(folder, language string) (*program, error) {
	p := &program{language: language, steps: map[string]string{}}
	files, err := filepath.Glob(filepath.Join(m.root, filepath.FromSlash(folder), "*."+language))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		p.add(string(source))
	}
	return p, nil
}

func (p *program) add(source string) {
	marks := stepMark.FindAllStringSubmatchIndex(source, -1)
	for i, mark := range marks {
		end := len(source)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		name := stepMark.FindStringSubmatch(source[mark[0]:])
		step := name[1] + name[2]
		p.steps[step] += strings.Trim(source[mark[1]:end], "\n") + "\n"
		p.order = append(p.order, step)
	}
	if len(marks) > 0 {
		source = source[:marks[0][0]]
	}
	p.heads += source
}

// codeLines counts the lines with code.
func codeLines(source string) (n int) {
	for _, line := range strings.Split(comment.ReplaceAllString(source, ""), "\n") {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// This program writes the regions of the guide between these two lines.
var region = regexp.MustCompile(`(?s)(<!-- (step|lines): ?([^\n]*?) ?-->\n).*?(<!-- end -->\n)`)

// portingGuide returns the guide with up-to-date regions.
func (m *module) portingGuide() (page []byte, problems []string, err error) {
	c, err := m.readProgram(cFolder, "c")
	if err != nil {
		return nil, nil, err
	}
	golang, err := m.readProgram(goFolder, "go")
	if err != nil {
		return nil, nil, err
	}
	old, err := os.ReadFile(filepath.Join(m.root, filepath.FromSlash(guideFile)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	page, problems = fillGuide(old, c, golang)
	return page, problems, nil
}

func fillGuide(guide []byte, c, golang *program) (page []byte, problems []string) {
	var shown []string
	for _, match := range region.FindAllSubmatch(guide, -1) {
		if string(match[2]) == "step" {
			shown = append(shown, string(match[3]))
		}
	}
	page = region.ReplaceAllFunc(guide, func(text []byte) []byte {
		match := region.FindSubmatch(text)
		content := excerpts(string(match[3]), c, golang)
		if string(match[2]) == "lines" {
			content = lineTable(shown, c, golang)
		}
		return bytes.Join([][]byte{match[1], []byte(content), match[4]}, nil)
	})
	for _, step := range shown {
		if c.steps[step] == "" && golang.steps[step] == "" {
			problems = append(problems, fmt.Sprintf("%s: no program has the step %q", guideFile, step))
		}
	}
	for _, p := range []*program{c, golang} {
		for i, step := range p.order {
			if !slices.Contains(shown, step) {
				problems = append(problems, fmt.Sprintf("%s: the step %q of the %s program is missing", guideFile, step, p.language))
			}
			if slices.Contains(p.order[:i], step) {
				problems = append(problems, fmt.Sprintf("the %s program has the step %q twice", p.language, step))
			}
		}
	}
	return page, problems
}

// excerpts returns a step in C and in Go.
func excerpts(step string, c, golang *program) string {
	var b strings.Builder
	for _, p := range []*program{c, golang} {
		if source := p.steps[step]; source != "" {
			fmt.Fprintf(&b, "\n%s, %s:\n\n```%s\n%s```\n", title(p), count(codeLines(source)), p.language, source)
		} else {
			fmt.Fprintf(&b, "\n%s: nothing.\n", title(p))
		}
	}
	return b.String() + "\n"
}

func title(p *program) string {
	if p.language == "go" {
		return "Go"
	}
	return strings.ToUpper(p.language)
}

func count(lines int) string {
	if lines == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", lines)
}

// lineTable counts the lines of code by step.
func lineTable(steps []string, c, golang *program) string {
	var b strings.Builder
	b.WriteString("\n| step | C | Go |\n| --- | ---: | ---: |\n")
	all := [2]int{codeLines(c.heads), codeLines(golang.heads)}
	fmt.Fprintf(&b, "| includes and imports | %d | %d |\n", all[0], all[1])
	for _, step := range steps {
		lines := [2]int{codeLines(c.steps[step]), codeLines(golang.steps[step])}
		fmt.Fprintf(&b, "| %s | %d | %d |\n", step, lines[0], lines[1])
		all[0] += lines[0]
		all[1] += lines[1]
	}
	fmt.Fprintf(&b, "| **all** | **%d** | **%d** |\n\n", all[0], all[1])
	return b.String()
}
