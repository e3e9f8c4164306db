// Command prose checks that the pages of the checkout and the comments on exported names are in plain English:
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

// Packages whose documentation others read.
var documented = []string{"cgo", "udat", "udat/udattest"}

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
		case d.IsDir() && (name == ".git" || name == "native" || name == "bin" || d.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(name) != ".md" || generated[name] || !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		for _, p := range pageParagraphs(string(text)) {
			complaints = append(complaints, p.complaints(name)...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, pkg := range documented {
		files, err := filepath.Glob(filepath.Join(folder, pkg, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			paragraphs, err := commentParagraphs(file)
			if err != nil {
				return nil, err
			}
			for _, p := range paragraphs {
				complaints = append(complaints, p.complaints(filepath.Join(pkg, filepath.Base(file)))...)
			}
		}
	}
	return complaints, nil
}
