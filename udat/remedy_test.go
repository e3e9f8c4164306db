package udat_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// remedies are the forms in which a refusal says what to do about it: after what
// is wrong, or as what must be.
var remedies = regexp.MustCompile(`: (%s$|.*[a-z]{2})|; [a-z%]|must be |make it `)

// Every refusal of the binding says what may be done about it.
func TestRefusalsNameRemedy(t *testing.T) {
	ofMemory := regexp.MustCompile(`^(lmr|rmr|memory|region_users|mapping|buffer_pool|registration_cache)`)
	files := token.NewFileSet()
	packages, err := parser.ParseDir(files, ".", func(f fs.FileInfo) bool {
		return !strings.HasSuffix(f.Name(), "_test.go") && !ofMemory.MatchString(f.Name())
	}, 0)
	want(t, err)
	found := 0
	for _, file := range packages["udat"].Files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if name, ok := call.Fun.(*ast.Ident); !ok || !slices.Contains([]string{"refuse", "refuseUnsupported"}, name.Name) {
				return true
			}
			for _, argument := range call.Args[1:] {
				literal, ok := argument.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					continue
				}
				text, err := strconv.Unquote(literal.Value)
				want(t, err)
				if text == "%s" { // the caller has it
					continue
				}
				if found++; !remedies.MatchString(text) {
					t.Errorf("%v: %q says what is wrong, and not what to do", files.Position(call.Pos()), text)
				}
			}
			return true
		})
	}
	if found < 50 {
		t.Errorf("%d refusals were found, where are the others?", found)
	}
}
