// Command prose checks that the pages of the checkout and the comments in its code are in plain English:
//
//	go run ./scripts/prose
//
// It complains of sentences that are too long, and of phrases that a reader has to read twice, each with what to write
// instead. It prints a line for each, and fails if there is one. Spelling is checked by misspell.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "prose: there are no arguments")
		os.Exit(2)
	}
	complaints, err := check(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
	for _, c := range complaints {
		fmt.Println(c)
	}
	if len(complaints) > 0 {
		os.Exit(1)
	}
}

// Pages that programs write, from what other files say.
var generated = map[string]bool{"docs/porting-table.md": true, "docs/api-status.md": true, "docs/conformance.md": true, "docs/performance.md": true}

// check returns a line for each complaint.
func check(folder string) (complaints []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == ".git" || name == "native" || name == "bin" || name == "scripts/patches" || d.Name() == "testdata"):
			return fs.SkipDir
		case generated[name] || !d.Type().IsRegular():
			return nil
		}
		paragraphs, err := readParagraphs(path, name)
		for _, p := range paragraphs {
			complaints = append(complaints, p.complaints(name)...)
		}
		return err
	})
	return complaints, err
}

// readParagraphs returns those of a page, or of the comments of a file of code.
func readParagraphs(path, name string) ([]paragraph, error) {
	extension := filepath.Ext(name)
	switch {
	case extension == ".go":
		return goParagraphs(path)
	case extension == ".md", extension == ".h", extension == ".c", extension == ".bash", extension == "" && strings.HasPrefix(name, "scripts/"):
	default:
		return nil, nil
	}
	text, err := os.ReadFile(path)
	switch {
	case err != nil:
		return nil, err
	case extension == ".md":
		return pageParagraphs(string(text)), nil
	case extension == ".h" || extension == ".c":
		return otherParagraphs(string(text), cComment, cMargin), nil
	}
	return otherParagraphs(string(text), shellComment, shellMargin), nil
}
