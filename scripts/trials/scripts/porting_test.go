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

// Each Go snippet of the porting guide is part of a test, line by line.
func TestPortingSnippets(t *testing.T) {
	guide, err := os.ReadFile("../docs/porting.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../udat/porting*_test.go")
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
	blocks := goBlock.FindAllSubmatch(guide, -1)
	if len(blocks) == 0 {
		t.Fatal("the guide has no snippets")
	}
	for _, block := range blocks {
		if !strings.Contains(string(program), string(block[1])) {
			t.Errorf("no udat/porting*_test.go has this part of docs/porting.md:\n%s", block[1])
		}
	}
}
