package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

var eventErr = newAnalyzer("udateventerr", `look for events whose Err nobody looks at

A completion of an operation that failed is an event, too. A program that reads its cookie or its length, and neither
Err, Status nor Number, takes it for a success.`, lookAtEvents)

// saying are the fields and methods of Event that say whether it is a failure. A connection request is none.
var saying = []string{"Err", "Status", "Number", "CR", "ConnQual"}

// events are those of a variable, or of a slice.
type events struct {
	read   *ast.SelectorExpr // the first of what does not say whether it is a failure
	looked bool
}

// lookAtEvents looks at the variables whose events come from an EVD, and at the slices that one has filled. What a
// function of the program, or Expect, returns was looked at there. What is passed on whole may be looked at elsewhere.
func lookAtEvents(f *function) {
	found := map[string]*events{} // by variable
	var all []*events
	add := func(key string) {
		if key != "" && found[key] == nil {
			found[key] = &events{}
			all = append(all, found[key])
		}
	}
	software := map[string]bool{} // EVDs whose events never fail
	taken := func(e ast.Expr) string {
		object, typ, name, _ := f.method(e)
		if typ != "EVD" || software[f.key(object)] {
			return ""
		}
		return name
	}
	assignments(f.body, func(left, right ast.Expr, _ token.Pos) {
		if call, ok := ast.Unparen(right).(*ast.CallExpr); ok && f.function(call, udatPath) == "CreateEVD" {
			software[f.key(left)] = types.ExprString(call.Args[len(call.Args)-1]) == "udat.EVDSoftware"
		}
		if name := taken(right); (name == "Wait" || name == "Dequeue") && f.declaresEvent(left) {
			add(f.key(left))
		}
	})
	ast.Inspect(f.body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && taken(call) != "" {
			for _, arg := range call.Args {
				if slice, ok := f.TypesInfo.TypeOf(arg).Underlying().(*types.Slice); ok && named(slice.Elem()) == "Event" {
					add(f.sliceOf(arg))
				}
			}
		}
		return true
	})
	kept := map[ast.Expr]bool{} // uses of variables that do not pass the events on
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			kept[variable(n.X)] = true
			for _, v := range []ast.Expr{n.Key, n.Value} {
				if !f.declaresEvent(v) {
					continue
				}
				if taken(n.X) == "Events" {
					add(f.key(v))
				} else if slice := found[f.sliceOf(n.X)]; slice != nil {
					found[f.key(v)] = slice
				}
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				kept[variable(left)] = true
				if right := n.Rhs[min(i, len(n.Rhs)-1)]; f.key(left) != "" && f.sliceOf(right) == f.key(left) {
					kept[variable(right)] = true
				}
			}
		case *ast.CallExpr:
			if _, typ, _, _ := f.method(n); typ == "EVD" || types.ExprString(n.Fun) == "len" {
				for _, arg := range n.Args {
					kept[variable(arg)] = true
				}
			}
		case *ast.SelectorExpr:
			v := variable(n.X)
			if e := found[f.key(v)]; e != nil {
				kept[v] = true
				if slices.Contains(saying, n.Sel.Name) {
					e.looked = true
				} else if e.read == nil {
					e.read = n
				}
			}
		}
		if e, ok := n.(ast.Expr); ok && !kept[e] && found[f.key(e)] != nil {
			if id, _ := e.(*ast.Ident); f.TypesInfo.Defs[id] == nil {
				found[f.key(e)].looked = true
			}
		}
		return true
	})
	for _, e := range all {
		if e.read != nil && !e.looked {
			name := types.ExprString(e.read.X)
			f.Reportf(e.read.Pos(), "the %s of %s is used, and nobody looks at %s.Err(): the operation may have failed", e.read.Sel.Name, name, name)
		}
	}
}

// declaresEvent reports whether an expression declares a variable of the type Event.
func (f *function) declaresEvent(e ast.Expr) bool {
	id, _ := e.(*ast.Ident)
	v, ok := f.TypesInfo.Defs[id].(*types.Var)
	return ok && named(v.Type()) == "Event"
}

// variable returns an expression without indices and bounds.
func variable(e ast.Expr) ast.Expr {
	switch e := ast.Unparen(e).(type) {
	case *ast.SliceExpr:
		return variable(e.X)
	case *ast.IndexExpr:
		return variable(e.X)
	default:
		return e
	}
}
