package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// A paragraph is text that belongs together, without line breaks.
type paragraph struct {
	line int
	text string
	code bool // it is the comment on a function, type or constant
}

var (
	listItem = regexp.MustCompile(`^\s*([-*]|\d+\.) `)
	heading  = regexp.MustCompile(`^#+ `)
	link     = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	quoted   = regexp.MustCompile("`[^`]*`")
)

// pageParagraphs are those of a page: paragraphs, items of lists, and cells of tables, without code.
func pageParagraphs(page string) (paragraphs []paragraph) {
	fenced, current := false, paragraph{}
	end := func() {
		if current.text != "" {
			paragraphs = append(paragraphs, current)
		}
		current = paragraph{}
	}
	number := 0
	for line := range strings.Lines(page) {
		number++
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			end()
			fenced = !fenced
			continue
		}
		text := strings.TrimSpace(quoted.ReplaceAllString(link.ReplaceAllString(line, "$1"), "code"))
		switch {
		case fenced, text == "", heading.MatchString(line), strings.HasPrefix(line, "    ") && current.text == "", strings.HasPrefix(text, "<!--"):
			end()
			continue
		case strings.HasPrefix(text, "|"):
			end()
			for _, cell := range strings.Split(text, "|") {
				paragraphs = append(paragraphs, paragraph{line: number, text: strings.TrimSpace(cell)})
			}
			continue
		case listItem.MatchString(line):
			end()
		}
		if current.text == "" {
			current.line = number
		}
		current.text = strings.TrimSpace(current.text + " " + text)
	}
	end()
	return paragraphs
}

// commentParagraphs are those of the comments on a file's package and exported names.
func commentParagraphs(file string) (paragraphs []paragraph, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	add := func(group *ast.CommentGroup, names ...*ast.Ident) {
		exported := len(names) == 0
		for _, n := range names {
			exported = exported || n.IsExported()
		}
		if group == nil || !exported {
			return
		}
		at := paragraph{line: set.Position(group.Pos()).Line, code: true}
		for _, text := range strings.Split(group.Text(), "\n\n") {
			if !strings.HasPrefix(text, "\t") {
				p := at
				p.text = strings.Join(strings.Fields(text), " ")
				paragraphs = append(paragraphs, p)
			}
		}
	}
	add(parsed.Doc)
	for _, declaration := range parsed.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			add(d.Doc, d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(d.Doc, s.Name)
					add(s.Doc, s.Name)
				case *ast.ValueSpec:
					add(s.Doc, s.Names...)
				}
			}
		}
	}
	return paragraphs, nil
}

var sentenceEnd = regexp.MustCompile(`[.!?:;]["')]? +|[.!?]$`)

// longest is how many words a sentence may have. A colon or a semicolon ends one.
const longest = 40

// complaints are what is wrong with a paragraph of a file.
func (p paragraph) complaints(file string) (lines []string) {
	say := func(format string, values ...any) {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", file, p.line, fmt.Sprintf(format, values...)))
	}
	for _, sentence := range sentenceEnd.Split(p.text, -1) {
		if words := strings.Fields(sentence); len(words) > longest {
			say("%d words: %s ...", len(words), strings.Join(words[:8], " "))
		}
	}
	for _, r := range rules {
		if r.comments && !p.code {
			continue
		}
		for _, found := range r.phrase.FindAllString(p.text, -1) {
			say("%q: write %s", found, r.instead)
		}
	}
	return lines
}
