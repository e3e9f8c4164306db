package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// page is a page in Markdown.
type page struct {
	links   []link
	anchors map[string]bool // the possible fragments of a link
}

type link struct {
	line   int
	target string
}

var (
	inlineLink = regexp.MustCompile(`\]\(\s*<?([^()\s>]*)>?(?:\s+"[^"]*")?\s*\)`)
	definition = regexp.MustCompile(`^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?`)
	autolink   = regexp.MustCompile(`<(https?://[^\s>]+)>`)
	attribute  = regexp.MustCompile(`\b(?:href|src)="([^"]*)"`)
	anchor     = regexp.MustCompile(`\b(?:id|name)="([^"]*)"`)
	heading    = regexp.MustCompile(`^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	fence      = regexp.MustCompile("^ {0,3}(```+|~~~+)")
	codeSpan   = regexp.MustCompile("`[^`]*`")
	linkText   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// readPage finds the links and headings outside of code.
func readPage(text string) *page {
	p := &page{anchors: map[string]bool{}}
	times := map[string]int{}
	fenced, blank := "", true
	for number, line := range strings.Split(text, "\n") {
		mark := ""
		if m := fence.FindStringSubmatch(line); m != nil {
			mark = m[1]
		}
		switch {
		case fenced != "":
			if strings.HasPrefix(mark, fenced) {
				fenced = ""
			}
			continue
		case mark != "":
			fenced = mark
			continue
		case blank && strings.HasPrefix(line, "    "):
			continue // and what follows is code as well
		}
		blank = strings.TrimSpace(line) == ""
		if m := heading.FindStringSubmatch(line); m != nil {
			p.anchors[unused(slug(m[1]), times)] = true
		}
		for _, m := range anchor.FindAllStringSubmatch(line, -1) {
			p.anchors[m[1]] = true
		}
		line = codeSpan.ReplaceAllString(line, "``")
		for _, pattern := range []*regexp.Regexp{inlineLink, definition, autolink, attribute} {
			for _, m := range pattern.FindAllStringSubmatch(line, -1) {
				p.links = append(p.links, link{number + 1, m[1]})
			}
		}
	}
	return p
}

// slug returns the fragment that the repository's site uses for a heading.
func slug(text string) string {
	text = linkText.ReplaceAllString(text, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(text))
}

// unused appends a number to a name that came before.
func unused(name string, times map[string]int) string {
	n := times[name]
	times[name]++
	if n == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}
