//go:build linux && amd64

package scripts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// Each Go snippet of the porting guide, and of the page on the native stack, is part of a test, line by line.
func TestPortingSnippets(t *testing.T) {
	files, err := filepath.Glob("../udat/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var program []byte
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		program = append(program, source...)
	}
	for _, page := range []string{"docs/porting.md", "docs/native.md"} {
		blocks := goBlock.FindAllStringSubmatch(readFile(t, page), -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no snippets", page)
		}
		for _, block := range blocks {
			if !strings.Contains(string(program), block[1]) {
				t.Errorf("no test of udat has this part of %s:\n%s", page, block[1])
			}
		}
	}
}
