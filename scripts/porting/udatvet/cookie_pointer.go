package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

var cookiePointer = newAnalyzer("udatcookie", `look for pointers in cookies

The garbage collector does not see a pointer in a cookie, and may free what it points to. Use an index.`, func(f *function) {
	pointers := map[string]bool{}
	assignments(f.body, func(left, right ast.Expr, _ token.Pos) {
		if key := f.key(left); key != "" && f.address(right, pointers) {
			pointers[key] = true
		}
	})
	report := func(e ast.Expr) {
		if f.address(e, pointers) {
			f.Reportf(e.Pos(), "a pointer as cookie: the garbage collector does not see it; use an index")
		}
	}
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f.TypesInfo.Types[n.Fun].IsType() && isUnsafePointer(f.TypesInfo.TypeOf(n)) && f.hasCookie(n) {
				f.Reportf(n.Pos(), "a cookie as pointer: the garbage collector may have freed what it pointed to; use an index")
			}
			if _, typ, _, _ := f.method(n); typ != "" {
				f.eachCookie(n, report)
			}
		case *ast.CompositeLit:
			if named(f.TypesInfo.TypeOf(n)) == "Post" {
				for _, element := range n.Elts {
					if pair, ok := element.(*ast.KeyValueExpr); ok && isCookie(pair.Key) {
						report(pair.Value)
					}
				}
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if selector, ok := left.(*ast.SelectorExpr); ok && isCookie(selector.Sel) && named(f.TypesInfo.TypeOf(selector.X)) != "" && len(n.Lhs) == len(n.Rhs) {
					report(n.Rhs[i])
				}
			}
		}
		return true
	})
})

func isCookie(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "Cookie"
}

// eachCookie visits the arguments of a call whose parameters are called cookie.
func (f *function) eachCookie(call *ast.CallExpr, visit func(ast.Expr)) {
	signature, ok := f.TypesInfo.TypeOf(call.Fun).(*types.Signature)
	if !ok {
		return
	}
	for i := range min(signature.Params().Len(), len(call.Args)) {
		if signature.Params().At(i).Name() == "cookie" {
			visit(call.Args[i])
		}
	}
}

// address reports whether the value of an expression is made of a pointer.
func (f *function) address(e ast.Expr, known map[string]bool) (found bool) {
	if known[f.key(e)] {
		return true
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || !f.TypesInfo.Types[call.Fun].IsType() || len(call.Args) != 1 {
		return false
	}
	return isUnsafePointer(f.TypesInfo.TypeOf(call.Args[0])) || f.address(call.Args[0], known)
}

func isUnsafePointer(t types.Type) bool {
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.UnsafePointer
}

// hasCookie reports whether an expression has the cookie of an event in it.
func (f *function) hasCookie(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok && isCookie(selector.Sel) && named(f.TypesInfo.TypeOf(selector.X)) == "Event" {
			found = true
		}
		return !found
	})
	return found
}
