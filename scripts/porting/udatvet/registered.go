package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

var registered = newAnalyzer("udatregistered", `look for registered slices that move away from their memory

The registration stays with the memory that the slice had. After append, the slice may have other memory, and after
s = s[n:], it begins elsewhere than the region.`, lookAtRegistered)

func lookAtRegistered(f *function) {
	type registration struct {
		pos, until token.Pos
		region     string // what frees it
		bytes      bool   // of Bytes, whose parts LMR.SegmentOf takes
	}
	slices := map[string]*registration{}
	assignments(f.body, func(left, right ast.Expr, at token.Pos) {
		region, memory := f.key(left), ast.Expr(nil)
		switch object, typ, name, call := f.method(right); {
		case f.function(right, udatPath) == "RegisterMemory" && len(call.Args) > 1:
			memory = call.Args[1]
		case typ == "RegistrationCache" && name == "Register":
			memory = call.Args[0]
		case (typ == "LMR" || typ == "Buffer") && name == "Bytes":
			region, memory = f.key(object), left
		}
		if memory == nil || named(f.TypesInfo.TypeOf(left)) == "" && memory != left {
			return
		}
		if key := f.key(memory); key != "" {
			slices[key] = &registration{pos: at, until: f.body.End(), region: region, bytes: memory == left}
		}
	})
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeferStmt:
			return false // it frees at the end
		case *ast.CallExpr:
			if object, typ, name, _ := f.method(n); frees(typ, name) && typ != "" {
				for _, r := range slices {
					if r.region != "" && r.region == f.key(object) && n.Pos() > r.pos {
						r.until = min(r.until, n.Pos())
					}
				}
			}
		}
		return true
	})
	assignments(f.body, func(left, right ast.Expr, at token.Pos) {
		r := slices[f.key(left)]
		if r == nil || at <= r.pos || at >= r.until {
			return
		}
		name := types.ExprString(left)
		switch right := ast.Unparen(right).(type) {
		case *ast.CallExpr:
			if id, ok := ast.Unparen(right.Fun).(*ast.Ident); ok && id.Name == "append" && len(right.Args) > 0 && f.sliceOf(right.Args[0]) == f.key(left) {
				f.Reportf(at, "%s is registered: append may move it to other memory, which is not", name)
				return
			}
		case *ast.SliceExpr:
			if f.sliceOf(right) == f.key(left) {
				if !r.bytes && right.Low != nil && !f.zeroConstant(right.Low) {
					f.Reportf(at, "%s is registered: it no longer begins where the region does, so that offsets differ", name)
				}
				return
			}
		}
		r.until = at // it has other memory
	})
}

// sliceOf returns the key of a slice, also of a part of it.
func (f *function) sliceOf(e ast.Expr) string {
	if part, ok := ast.Unparen(e).(*ast.SliceExpr); ok {
		return f.sliceOf(part.X)
	}
	return f.key(e)
}
