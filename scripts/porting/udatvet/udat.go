package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const udatPath = "github.com/goudat/goudat/udat"

var analyzers = []*analysis.Analyzer{eventErr, droppedErr, registered, waitBound, cookiePointer, afterFree}

// newAnalyzer makes an analyzer that looks at one function of a package at a time, and not at the packages of udat itself.
func newAnalyzer(name, doc string, look func(*function)) *analysis.Analyzer {
	run := func(pass *analysis.Pass) (any, error) {
		if pass.Pkg.Path() == udatPath {
			return nil, nil
		}
		for _, file := range pass.Files {
			for _, decl := range file.Decls {
				if decl, ok := decl.(*ast.FuncDecl); ok && decl.Body != nil {
					look(&function{pass, decl.Body})
				}
			}
		}
		return nil, nil
	}
	return &analysis.Analyzer{Name: name, Doc: doc, Run: run}
}

// function is a function that an analyzer looks at, with the functions inside it.
type function struct {
	*analysis.Pass
	body *ast.BlockStmt
}

// named returns the name of the type of udat or mem that a type is, or points to, "" if it is none.
func named(t types.Type) string {
	if t == nil {
		return ""
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil && (n.Obj().Pkg().Path() == udatPath || n.Obj().Pkg().Path() == udatPath+"/mem") {
		return n.Obj().Name()
	}
	return ""
}

// method returns the method of udat that an expression calls: the object, its type and the method's name.
func (f *function) method(e ast.Expr) (object ast.Expr, typ, name string, call *ast.CallExpr) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil, "", "", nil
	}
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil, "", "", call
	}
	selection := f.TypesInfo.Selections[selector]
	if selection == nil || selection.Kind() != types.MethodVal {
		return nil, "", "", call
	}
	if receiver := selection.Obj().(*types.Func).Signature().Recv(); receiver != nil {
		if typ = named(receiver.Type()); typ != "" {
			return ast.Unparen(selector.X), typ, selector.Sel.Name, call
		}
	}
	return nil, "", "", call
}

// function returns the name of the function of a package that an expression calls, "" if it calls none.
func (f *function) function(e ast.Expr, pkg string) string {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return ""
	}
	if selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		if fn, ok := f.TypesInfo.Uses[selector.Sel].(*types.Func); ok && fn.Pkg() != nil && fn.Pkg().Path() == pkg && fn.Signature().Recv() == nil {
			return fn.Name()
		}
	}
	return ""
}

// key names a variable, or a field of one, so that two expressions can be compared; "" for any other expression.
func (f *function) key(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if object, ok := f.TypesInfo.ObjectOf(e).(*types.Var); ok {
			return f.Fset.Position(object.Pos()).String() + " " + e.Name
		}
	case *ast.SelectorExpr:
		if base := f.key(e.X); base != "" {
			return base + "." + e.Sel.Name
		}
	}
	return ""
}

// assignments calls visit for each left side with its right side. A right side of several results is that of each.
func assignments(n ast.Node, visit func(left, right ast.Expr, at token.Pos)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				visit(left, checked(n.Rhs[min(i, len(n.Rhs)-1)]), n.Pos())
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if len(n.Values) > 0 {
					visit(name, checked(n.Values[min(i, len(n.Values)-1)]), n.Pos())
				}
			}
		}
		return true
	})
}

// checked returns what a call of must or check gets, or else the expression.
func checked(e ast.Expr) ast.Expr {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return e
	}
	name := strings.ToLower(types.ExprString(call.Fun))
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "must", "check":
		return call.Args[0]
	}
	return e
}

// isError reports whether a type is error.
func isError(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type())
}

// zeroConstant reports whether an expression is the constant 0.
func (f *function) zeroConstant(e ast.Expr) bool {
	value := f.TypesInfo.Types[e].Value
	return value != nil && value.Kind() == constant.Int && constant.Sign(value) == 0
}

// freed are the types with the method that ends their objects.
var freed = map[string]string{"IA": "Close", "Buffer": "Release", "Registration": "Release"}

func frees(typ, method string) bool {
	if ends := freed[typ]; ends != "" {
		return method == ends
	}
	return method == "Free"
}

func isPost(method string) bool { return strings.HasPrefix(method, "Post") }

// waits are the methods that wait, with a context as first argument.
func waits(typ, method string) bool {
	return typ == "EVD" && slices.Contains([]string{"Wait", "WaitBatch", "Expect", "Events"}, method) || typ == "CNO" && method == "Wait"
}
