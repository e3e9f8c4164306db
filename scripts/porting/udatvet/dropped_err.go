package main

import (
	"go/ast"
	"go/types"
	"regexp"
)

var droppedErr = newAnalyzer("udatdroppederr", `look for posts, frees and connections whose error is dropped

A post that is refused has no completion to wait for, and a call for a connection no event. An object that is in use is not freed. To drop an error on purpose,
assign it to _. A deferred call may drop its error.`, func(f *function) {
	ast.Inspect(f.body, func(n ast.Node) bool {
		var dropped ast.Expr
		switch n := n.(type) {
		case *ast.ExprStmt:
			dropped = n.X
		case *ast.GoStmt:
			dropped = n.Call
		default:
			return true
		}
		_, typ, name, call := f.method(dropped)
		if typ == "" || !isPost(name) && !frees(typ, name) && !connects.MatchString(typ+"."+name) {
			return true
		}
		if lastIsError(f.TypesInfo.TypeOf(call)) {
			f.Reportf(call.Pos(), "the error of %s.%s is dropped", typ, name)
		}
		return true
	})
})

var connects = regexp.MustCompile(`^(CR\.Accept|EP\.Connect)(AndWait)?$|^EP\.(Reset|Disconnect)$`)

// lastIsError reports whether results are an error, or end with one.
func lastIsError(t types.Type) bool {
	if tuple, ok := t.(*types.Tuple); ok {
		return tuple.Len() > 0 && isError(tuple.At(tuple.Len()-1).Type())
	}
	return t != nil && isError(t)
}
