package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

var waitBound = newAnalyzer("udatwaitbound", `look for waits without a deadline in tests

An event that does not come makes such a test hang until the time of all tests is over, and nobody sees which wait it
was. udattest.Context makes a context with a deadline.`, func(f *function) {
	if !strings.HasSuffix(f.Fset.Position(f.body.Pos()).Filename, "_test.go") {
		return
	}
	// Contexts by the variable that has them, and whether they have no deadline.
	endless := map[string]bool{}
	assignments(f.body, func(left, right ast.Expr, _ token.Pos) {
		if t := f.TypesInfo.TypeOf(left); t != nil && types.TypeString(t, nil) == "context.Context" {
			if key := f.key(left); key != "" {
				endless[key] = f.endless(right, endless)
			}
		}
	})
	ast.Inspect(f.body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if _, typ, name, _ := f.method(call); waits(typ, name) && f.endless(call.Args[0], endless) {
				f.Reportf(call.Pos(), "%s.%s waits without a deadline: give it udattest.Context(t), or another context with one", typ, name)
			}
		}
		return true
	})
})

// endless reports whether a context is known to have no deadline.
func (f *function) endless(ctx ast.Expr, known map[string]bool) bool {
	switch f.function(ctx, "context") {
	case "Background", "TODO":
		return true
	case "WithCancel", "WithCancelCause", "WithValue", "WithoutCancel":
		return f.endless(ast.Unparen(ctx).(*ast.CallExpr).Args[0], known)
	}
	if call, ok := ast.Unparen(ctx).(*ast.CallExpr); ok {
		selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok {
			return false
		}
		method, ok := f.TypesInfo.Uses[selector.Sel].(*types.Func)
		return ok && method.Pkg() != nil && method.Pkg().Path() == "testing" && method.Name() == "Context"
	}
	return known[f.key(ctx)]
}
