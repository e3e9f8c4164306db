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
	code bool // it is a comment in code
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

// goParagraphs are those of the comments of a Go file.
func goParagraphs(file string) (paragraphs []paragraph, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(parsed) {
		return nil, nil
	}
	for _, group := range parsed.Comments {
		if text := group.Text(); !strings.Contains(text, "#include") { // that is C
			paragraphs = append(paragraphs, commentParagraphs(set.Position(group.Pos()).Line, text)...)
		}
	}
	return paragraphs, nil
}

// commentParagraphs are those of a comment that begins in a line, without code.
func commentParagraphs(line int, comment string) (paragraphs []paragraph) {
	for _, text := range strings.Split(comment, "\n\n") {
		if !strings.HasPrefix(text, "\t") {
			paragraphs = append(paragraphs, paragraph{line: line, text: strings.Join(strings.Fields(text), " "), code: true})
		}
	}
	return paragraphs
}

var (
	cComment     = regexp.MustCompile(`(?s)/\*(.*?)\*/`)
	cMargin      = regexp.MustCompile(`(?m)^[ \t]*\*[ \t]?`)
	shellComment = regexp.MustCompile(`(?m)(?:^[ \t]*# (?:.*)\n)+`)
	shellMargin  = regexp.MustCompile(`(?m)^[ \t]*# `)
	directive    = regexp.MustCompile(`(?m)^(shellcheck|step:).*$`)
)

// otherParagraphs are those of the comments of a file in C or of a shell script.
func otherParagraphs(text string, comment, margin *regexp.Regexp) (paragraphs []paragraph) {
	for _, at := range comment.FindAllStringIndex(text, -1) {
		line := 1 + strings.Count(text[:at[0]], "\n")
		inside := strings.TrimSuffix(strings.TrimPrefix(text[at[0]:at[1]], "/*"), "*/")
		inside = directive.ReplaceAllString(margin.ReplaceAllString(inside, ""), "")
		paragraphs = append(paragraphs, commentParagraphs(line, strings.TrimLeft(inside, " \n"))...)
	}
	return paragraphs
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
		for _, found := range r.found(p.text) {
			say("%q: write %s", found, r.instead)
		}
	}
	return lines
}
