package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// wrapper is a Go function or method whose comment says which C functions it wraps.
type wrapper struct {
	name       string // EP.PostSend, CreateEP
	id         string // as go/types writes it in full
	file       string // below the module's folder
	line       int
	signature  string // parameters and results
	prototypes []prototype
	standsIn   bool // the method does its work without these C functions
}

func (w *wrapper) String() string { return fmt.Sprintf("%s:%d: %s", w.file, w.line, w.name) }

// wrappers reads the exported wrappers of the package in a folder, in the order of files and lines.
func (m *module) wrappers(folder string) (found []*wrapper, err error) {
	err = m.eachDeclaration(folder, func(decl ast.Decl, file string, line int) {
		for _, w := range wrappersOf(decl, m.path+"/"+folder) {
			w.file, w.line = file, line
			found = append(found, w)
		}
	})
	return found, err
}

// eachDeclaration visits the declarations of the package in a folder, without its tests, in the order of files and
// lines.
func (m *module) eachDeclaration(folder string, visit func(decl ast.Decl, file string, line int)) error {
	entries, err := os.ReadDir(filepath.Join(m.root, folder))
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(m.root, folder, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			visit(decl, path.Join(folder, name), fset.Position(decl.Pos()).Line)
		}
	}
	return nil
}

// wrappersOf returns one wrapper for "Implements:" and one for "Stands in for:". There is none for a declaration that is
// not exported.
func wrappersOf(decl ast.Decl, pkg string) (found []*wrapper) {
	f, ok := decl.(*ast.FuncDecl)
	if !ok || nameOf(f) == "" {
		return nil
	}
	name := nameOf(f)
	id := pkg + "." + name
	if typ, method, ok := strings.Cut(name, "."); ok {
		star := ""
		if _, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
			star = "*"
		}
		id = "(" + star + pkg + "." + typ + ")." + method
	}
	for _, heading := range []string{"Implements:", "Stands in for:"} {
		if block, ok := blockOf(f.Doc.Text(), heading); ok {
			found = append(found, &wrapper{name: name, id: id, signature: signature(f),
				prototypes: parsePrototypes(block), standsIn: heading != "Implements:"})
		}
	}
	return found
}

// nameOf returns Func or Type.Method, or "" if it is not exported.
func nameOf(f *ast.FuncDecl) string {
	if !f.Name.IsExported() {
		return ""
	}
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if s, ok := receiver.(*ast.StarExpr); ok {
		receiver = s.X
	}
	typ, ok := receiver.(*ast.Ident)
	if !ok || !typ.IsExported() {
		return ""
	}
	return typ.Name + "." + f.Name.Name
}

// signature returns parameters and results as in the source.
func signature(f *ast.FuncDecl) string {
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), f.Type); err != nil {
		return ""
	}
	return strings.Join(strings.Fields(strings.TrimPrefix(b.String(), "func")), " ")
}

// blockOf returns the indented lines that begin with a heading, each with those after it that are indented further.
func blockOf(comment, heading string) (block string, ok bool) {
	inside := false
	for _, line := range strings.Split(comment, "\n") {
		rest, begins := strings.CutPrefix(line, "\t"+heading)
		inside = begins || inside && strings.HasPrefix(line, "\t ")
		if inside {
			block += rest + "\n"
		}
		ok = ok || begins
	}
	return block, ok
}
