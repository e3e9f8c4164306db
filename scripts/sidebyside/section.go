package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// keptSections are the titles of the sections that have runs of their own.
var keptSections = []string{callsTitle, scaleTitle}

// sectionOf returns the part of a page that begins with a title of the second level, or "" if there is none.
func sectionOf(page, title string) string {
	_, rest, found := strings.Cut("\n"+page, "\n"+title+"\n")
	if !found {
		return ""
	}
	if text, _, more := strings.Cut(rest, "\n## "); more {
		rest = text + "\n"
	}
	return title + "\n" + rest
}

// withSection returns the page with the section replaced, or added at the end.
func withSection(page, title, section string) string {
	page = strings.TrimRight(page, "\n") + "\n"
	section = strings.TrimRight(section, "\n") + "\n"
	former := sectionOf(page, title)
	if former == "" {
		return page + "\n" + section
	}
	before, after, _ := strings.Cut(page, former)
	return before + strings.TrimRight(section+"\n"+after, "\n") + "\n"
}

// keepSections returns the new text of a page, with those sections of the file that the new text lacks.
func keepSections(file, text string) (string, error) {
	former, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, title := range keptSections {
		if section := sectionOf(string(former), title); section != "" && sectionOf(text, title) == "" {
			text = withSection(text, title, section)
		}
	}
	return text, nil
}
