package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

var afterFree = newAnalyzer("udatafterfree", `look for uses of objects after they were freed

Each call of a freed object, and each post of a segment of freed memory, fails with ErrClosed. The memory of AllocMemory is gone after Free.`, func(f *function) {
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			f.lookAfterFree(n.List)
		case *ast.CaseClause:
			f.lookAfterFree(n.Body)
		case *ast.CommClause:
			f.lookAfterFree(n.Body)
		}
		return true
	})
})

// lookAfterFree looks at statements that follow each other.
func (f *function) lookAfterFree(list []ast.Stmt) {
	for i, statement := range list {
		object := f.freedBy(statement, list[i+1:])
		if object == nil {
			continue
		}
		key := f.key(object)
		if key == "" {
			continue
		}
		memory := f.memoryOf(object)
		for _, later := range list[i+1:] {
			if f.reassigns(later, key) {
				break
			}
			assignments(later, func(left, _ ast.Expr, _ token.Pos) { delete(memory, f.key(left)) })
			if pos, what := f.use(later, key, memory); pos.IsValid() {
				f.Reportf(pos, "%s is used after it was freed in line %d", what, f.Fset.Position(statement.Pos()).Line)
				break
			}
		}
	}
}

// freedBy returns the object that a statement frees in any case: as a statement of its own, in a call that checks the
// error, or where an error ends the function or the loop.
func (f *function) freedBy(statement ast.Stmt, rest []ast.Stmt) ast.Expr {
	free := func(e ast.Expr) ast.Expr {
		if object, typ, name, _ := f.method(e); typ != "" && frees(typ, name) {
			return object
		}
		return nil
	}
	switch s := statement.(type) {
	case *ast.ExprStmt:
		return free(checked(s.X))
	case *ast.IfStmt:
		if assign, ok := s.Init.(*ast.AssignStmt); ok && len(assign.Rhs) == 1 && failureEnds(s) {
			return free(assign.Rhs[0])
		}
	case *ast.AssignStmt:
		if len(s.Rhs) == 1 && len(rest) > 0 {
			if check, ok := rest[0].(*ast.IfStmt); ok && check.Init == nil && failureEnds(check) {
				return free(s.Rhs[0])
			}
		}
	}
	return nil
}

// failureEnds reports whether a statement is "if err != nil" with a body that ends the function or the loop.
func failureEnds(s *ast.IfStmt) bool {
	condition, ok := s.Cond.(*ast.BinaryExpr)
	if !ok || condition.Op != token.NEQ || types.ExprString(condition.Y) != "nil" || len(s.Body.List) == 0 {
		return false
	}
	switch last := s.Body.List[len(s.Body.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		call, ok := last.X.(*ast.CallExpr)
		return ok && (strings.Contains(types.ExprString(call.Fun), "Fatal") || types.ExprString(call.Fun) == "panic" || types.ExprString(call.Fun) == "os.Exit")
	}
	return false
}

// memoryOf returns the variables with segments of an object, and with its memory, which is gone with it. The memory of RegisterMemory
// stays.
func (f *function) memoryOf(object ast.Expr) map[string]bool {
	key, outside := f.key(object), named(f.TypesInfo.TypeOf(object)) == "Buffer"
	assignments(f.body, func(left, right ast.Expr, _ token.Pos) {
		name := f.function(right, udatPath)
		outside = outside || f.key(left) == key && (name == "AllocMemory" || name == "AllocHugeMemory")
	})
	memory := map[string]bool{}
	assignments(f.body, func(left, right ast.Expr, _ token.Pos) {
		ast.Inspect(right, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			from, _, name, _ := f.method(call)
			gone := outside && name == "Bytes" && call == right || strings.HasPrefix(name, "Segment") && hasSegments(f.TypesInfo.TypeOf(left))
			if gone && f.key(from) == key && f.key(left) != "" {
				memory[f.key(left)] = true
			}
			return true
		})
	})
	return memory
}

// hasSegments reports whether a type is Segment, or a slice of them.
func hasSegments(t types.Type) bool {
	if slice, ok := t.(*types.Slice); ok {
		t = slice.Elem()
	}
	return named(t) == "Segment"
}

func (f *function) reassigns(statement ast.Stmt, key string) (found bool) {
	assignments(statement, func(left, _ ast.Expr, _ token.Pos) {
		other := f.key(left)
		found = found || other != "" && (other == key || strings.HasPrefix(key, other+"."))
	})
	return found
}

// working are the methods of freed objects that work, or only say that it was freed.
var working = []string{"Free", "Close", "Release", "String", "Name"}

// use finds a call of a method of the object, or of a function of udat that gets it, and any use of its memory.
func (f *function) use(statement ast.Stmt, key string, memory map[string]bool) (pos token.Pos, what string) {
	ast.Inspect(statement, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // it runs at another time
		case *ast.CallExpr:
			object, typ, name, _ := f.method(n)
			if typ != "" && f.key(object) == key && !slices.Contains(working, name) {
				pos, what = n.Pos(), types.ExprString(object)
			}
			if typ != "" || f.function(n, udatPath) != "" {
				for _, arg := range n.Args {
					if f.key(arg) == key {
						pos, what = arg.Pos(), types.ExprString(arg)
					}
				}
			}
		case *ast.Ident:
			if memory[f.key(n)] {
				pos, what = n.Pos(), n.Name
			}
		}
		return !pos.IsValid()
	})
	return pos, what
}
