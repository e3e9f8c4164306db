//go:build linux && amd64

package scripts

import (
	"os"
	"strings"
	"testing"
)

// The program in the README is that of examples/hello, line by line.
func TestReadmeProgram(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("../examples/hello/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the README has no Go program")
	}
	indented := "\t" + strings.TrimSuffix(strings.ReplaceAll(block, "\n", "\n\t"), "\t")
	if !strings.Contains(string(program), strings.ReplaceAll(indented, "\n\t\n", "\n\n")) {
		t.Error("the program in the README is not that of examples/hello/main.go")
	}
}
