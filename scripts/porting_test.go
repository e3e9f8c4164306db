//go:build linux && amd64

package scripts

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	excerpt = regexp.MustCompile(`(?s)<!-- step: .*?<!-- end -->`)
	goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")
)

// What the porting guide shows in Go, beside the excerpts that scripts/apistatus puts there, is part of a test, line by
// line.
func TestPortingSnippets(t *testing.T) {
	guide, err := os.ReadFile("../docs/porting.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("../udat/porting_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := goBlock.FindAllSubmatch(excerpt.ReplaceAll(guide, nil), -1)
	if len(blocks) == 0 {
		t.Fatal("the guide has no snippets")
	}
	for _, block := range blocks {
		if !strings.Contains(string(program), string(block[1])) {
			t.Errorf("udat/porting_test.go does not have this part of docs/porting.md:\n%s", block[1])
		}
	}
}
