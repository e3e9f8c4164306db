package main

import (
	"go/ast"
	"go/types"
	"slices"
)

var eventErr = newAnalyzer("udateventerr", `look for events whose Err nobody looks at

A completion of an operation that failed is an event, too. A program that reads its cookie or its length, and neither
Err, Status nor Number, takes it for a success.`, lookAtEvents)

// saying are the fields and methods of Event that say whether it is a failure. A connection request is none.
var saying = []string{"Err", "Status", "Number", "CR", "ConnQual"}

// lookAtEvents looks at the variables whose events come from an EVD, or from a slice that one has filled. What a function of the program, or
// Expect, returns was looked at there. What is passed on whole may be looked at elsewhere.
func lookAtEvents(f *function) {
	filled := map[string]bool{}
	ast.Inspect(f.body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if _, typ, _, _ := f.method(call); typ == "EVD" {
				for _, arg := range call.Args {
					filled[f.sliceOf(arg)] = true
				}
			}
		}
		return true
	})
	delete(filled, "")
	parents := map[ast.Expr]ast.Node{}
	var events []*ast.Ident
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			parents[n.X] = n
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				parents[left] = n
			}
			if _, typ, name, _ := f.method(n.Rhs[0]); typ == "EVD" && (name == "Wait" || name == "Dequeue") {
				events = f.appendEvent(events, n.Lhs[0])
			}
		case *ast.RangeStmt:
			if _, _, name, _ := f.method(n.X); name == "Events" || filled[f.sliceOf(n.X)] {
				events = f.appendEvent(f.appendEvent(events, n.Key), n.Value)
			}
		}
		return true
	})
	for _, event := range events {
		object := f.TypesInfo.Defs[event]
		read, looked := "", false
		ast.Inspect(f.body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || f.TypesInfo.Uses[id] != object {
				return true
			}
			switch parent := parents[id].(type) {
			case *ast.SelectorExpr:
				if slices.Contains(saying, parent.Sel.Name) {
					looked = true
				} else if read == "" {
					read = parent.Sel.Name
				}
			case *ast.AssignStmt: // it gets another value
			default:
				looked = true
			}
			return true
		})
		if read != "" && !looked {
			f.Reportf(event.Pos(), "the %s of %s is used, and nobody looks at %s.Err(): the operation may have failed", read, event.Name, event.Name)
		}
	}
}

// appendEvent appends a variable of the type Event that is declared here.
func (f *function) appendEvent(events []*ast.Ident, e ast.Expr) []*ast.Ident {
	id, ok := e.(*ast.Ident)
	if !ok {
		return events
	}
	if v, ok := f.TypesInfo.Defs[id].(*types.Var); ok && named(v.Type()) == "Event" {
		return append(events, id)
	}
	return events
}
