//go:build linux && amd64

package scripts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page on the native library names only files and tests that exist, and each protection has a file and a test.
func TestNativeLibraryPage(t *testing.T) {
	for _, problem := range pageProblems(readFile(t, "scripts/dapl/native-library.md"), testNames(t), exists) {
		t.Error(problem)
	}
}

var (
	pageTest = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	pageFile = regexp.MustCompile("`((?:udat|cgo|include|scripts|docs|examples)/[^`]+)`")
)

// pageProblems says what is wrong with a page, given the tests of the module and
// what reports whether a file exists.
func pageProblems(page string, tests map[string]bool, exists func(file string) bool) (problems []string) {
	protections := 0
	for line := range strings.SplitSeq(page, "\n") {
		for _, m := range pageTest.FindAllStringSubmatch(line, -1) {
			if !tests[m[1]] {
				problems = append(problems, "there is no test "+m[1])
			}
		}
		for _, m := range pageFile.FindAllStringSubmatch(line, -1) {
			if !exists(m[1]) {
				problems = append(problems, "there is no file "+m[1])
			}
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		const columns = 4 // of a table of protections
		if len(cells) != columns || strings.HasPrefix(line, "|---") || strings.Contains(line, "| Fact |") {
			continue
		}
		protections++
		known, protection, test := cells[1], cells[2], cells[3]
		if !strings.Contains(known, "run") && !strings.Contains(known, "source") {
			problems = append(problems, "not said how it is known: "+line)
		}
		if !pageTest.MatchString(test) && strings.TrimSpace(test) != "none" {
			problems = append(problems, "no test: "+line)
		}
		if !pageFile.MatchString(protection) && !strings.HasPrefix(strings.TrimSpace(protection), "The same") && !strings.Contains(protection, "Not solved") {
			problems = append(problems, "no file: "+line)
		}
	}
	if protections == 0 {
		problems = append(problems, "the page has no protections")
	}
	return problems
}

// testNames returns the names of the module's tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, folder := range []string{"../udat", "../cgo", "../examples", "."} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
					names[f.Name.Name] = true
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}
