package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"strings"
)

// wrapper is an exported Go function or method whose comment says which C functions it wraps.
type wrapper struct {
	name       string // EP.PostSend, CreateEP
	file       string // below the module's folder
	signature  string // parameters and results
	prototypes []prototype
	standsIn   bool // the method does its work without these C functions
}

func (w *wrapper) String() string { return w.file + ": " + w.name }

// wrappers reads those of the package in a folder of the module in root, in the order of files and lines.
func wrappers(root, folder string) (found []*wrapper, err error) {
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no package in %s: run it in goudat's folder", filepath.Join(root, folder))
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, w := range wrappersOf(file) {
			w.file = folder + "/" + filepath.Base(name)
			found = append(found, w)
		}
	}
	return found, nil
}

// wrappersOf returns one wrapper for "Implements:" and one for "Stands in for:" of each function.
func wrappersOf(file *ast.File) (found []*wrapper) {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || nameOf(f) == "" {
			continue
		}
		for _, heading := range []string{"Implements:", "Stands in for:"} {
			if block, ok := blockOf(f.Doc.Text(), heading); ok {
				found = append(found, &wrapper{name: nameOf(f), signature: signature(f),
					prototypes: parsePrototypes(block), standsIn: heading != "Implements:"})
			}
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
	for line := range strings.Lines(comment) {
		rest, begins := strings.CutPrefix(line, "\t"+heading)
		inside = begins || inside && strings.HasPrefix(line, "\t ")
		if inside {
			block += rest
		}
		ok = ok || begins
	}
	return block, ok
}
