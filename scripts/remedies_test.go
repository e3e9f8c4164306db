//go:build linux && amd64

package scripts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// remedies are the forms in which a refusal says what to do about it: after what
// is wrong, or as what must be.
var remedies = regexp.MustCompile(`: (%s$|.*[a-z]{2})|; [a-z%]|must be |make it `)

// Every refusal of the binding says what may be done about it.
func TestRefusalsNameRemedy(t *testing.T) {
	ofMemory := regexp.MustCompile(`^(lmr|rmr|memory)`) // TestMemoryArguments has these
	files := token.NewFileSet()
	packages, err := parser.ParseDir(files, "../udat", func(f fs.FileInfo) bool {
		return !strings.HasSuffix(f.Name(), "_test.go") && !ofMemory.MatchString(f.Name())
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	refusal := func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "refuse" && name.Name != "refuseUnsupported" {
			return true
		}
		format := false
		for _, argument := range call.Args[1:] {
			if name, ok := argument.(*ast.Ident); ok && format && name.IsExported() && name.Name != "MaxSpin" {
				t.Errorf("%v: the text has the C name of %s: write the Go name", files.Position(call.Pos()), name.Name)
			}
			literal, ok := argument.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				continue
			}
			format = true
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			if text == "%s" { // the caller has it
				continue
			}
			if found++; !remedies.MatchString(text) {
				t.Errorf("%v: %q says what is wrong, and not what to do", files.Position(call.Pos()), text)
			}
		}
		return true
	}
	for _, file := range packages["udat"].Files {
		ast.Inspect(file, refusal)
	}
	if found < 50 {
		t.Errorf("%d refusals were found, where are the others?", found)
	}
}
